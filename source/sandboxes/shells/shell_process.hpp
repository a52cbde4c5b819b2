#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/terminal_master.hpp"
#include "sandboxes/tool_rights.hpp"
#include "shells/program_streams.hpp"
#include "shells/typed_text.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A program with a terminal in a sandbox, or with streams() in place of one. Who drops one calls finish() first. Io
/// thread only.
class shell_process : public std::enable_shared_from_this<shell_process> {
public:
    shell_process(asio::any_io_executor executor, sandbox::backend& backend);

    /// `request` is complete but for the terminal. `right` ends with the program. Throws std::system_error.
    void start(sandbox::run_request request, sandbox::terminal_size size, tool_rights::ticket right = {});

    /// Without a terminal. Standard input is descriptor 3 at first: `request` names a program that moves it.
    void start_plain(sandbox::run_request request, tool_rights::ticket right = {});
    program_streams* streams() { return streams_.get(); }  ///< null: there is a terminal

    awaitable<bool> opened();  ///< waits for the terminal; false: the program could not start, end() says why
    bool alive() const { return !end_; }
    const std::optional<sandbox::run_result>& end() const { return end_; }  ///< nothing while it lives

    /// The next output of the terminal, at most `most` bytes. Empty: the program has ended and all was read.
    awaitable<std::string> read(std::size_t most);

    /// False: the program has ended, or has not read for ten seconds; some may have been typed then.
    awaitable<bool> type(std::string keys);
    /// How the program in the foreground reads what is typed, but for what it has asked for.
    terminal_reader reader();

    void resize(sandbox::terminal_size size);
    bool signal(int number);  ///< see terminal_master

    /// Hangs up. A program that goes on all the same is killed with its jobs after two seconds.
    awaitable<> finish();

private:
    awaitable<> run(sandbox::run_request request, tool_rights::ticket right);
    static awaitable<> write_input(std::shared_ptr<program_streams> to);
    awaitable<> wait_for_end(event::clock::duration limit);

    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    asio::posix::stream_descriptor channel_;
    std::optional<sandbox::terminal_master> terminal_;
    std::shared_ptr<program_streams> streams_;
    int own_group_ = 0;  // of the program itself
    std::optional<sandbox::run_result> end_;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp
