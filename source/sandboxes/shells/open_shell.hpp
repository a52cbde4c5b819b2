#pragma once

#include "shells/screen_back.hpp"
#include "shells/shell_manager.hpp"
#include "shells/shell_screen.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// A shell, from its start until it is closed, or until its sandbox ends.
struct shell_manager::shell {
    static constexpr std::size_t most_kept = 256 * 1024;  // bytes of output

    shell(const asio::any_io_executor& executor, sandbox::backend& backend)
        : process(std::make_shared<shell_process>(executor, backend))
    {
    }

    shell_view view() const { return {id, output.end(), process->alive(), process->end()}; }

    std::string id;
    std::string owner;
    double started = sandbox_manager::now();
    sandbox_record where;
    std::shared_ptr<shell_process> process;
    bool keeps = false;                                   // its output, for read()
    std::shared_ptr<sandbox_activities::entry> activity;  // while it is attached
    screen_back output{most_kept};
    std::uint64_t read_until = 0;  // by the latest answer
    sandbox::terminal_size size{};
    std::shared_ptr<shell_screen> screen;  // once somebody has looked at it
    std::vector<size_change> sizes;        // since then, the latest ones
    std::uint64_t size_changes = 0;
    bool complete = false;  // no more output comes
    bool forgotten = false;
    event::clock::time_point used = event::clock::now();
    event::clock::time_point last_output = event::clock::now();
    event changed;   // output, or the end
    event released;  // its watch looks again
    event gone;
};

template <class T>
awaitable<T> shell_manager::within(std::shared_ptr<shell> one, awaitable<T> work)
{
    auto entry = runs_.sandboxes().enter(one->where);
    touch(*one);
    T value = co_await sandbox_activities::run(entry, std::move(work));
    touch(*one);
    co_return value;
}

}  // namespace cmcp
