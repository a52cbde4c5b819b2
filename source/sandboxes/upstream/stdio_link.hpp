#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "config/upstream_entry.hpp"
#include "sandbox/backend.hpp"
#include "upstream/upstream_link.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace cmcp {

class sandbox_runner;
struct sandbox_record;
class stdio_process;

/// How long the program of an upstream server lives, and how soon it comes back.
struct stdio_times {
    std::chrono::milliseconds start{300'000};      ///< until it has answered `initialize`: it may install itself
    std::chrono::milliseconds idle{600'000};       ///< without use, then it ends
    std::chrono::milliseconds first_pause{1'000};  ///< before it starts again after it ended by itself; doubles
    std::chrono::milliseconds longest_pause{60'000};
    std::chrono::milliseconds steady{60'000};  ///< it lived so long: the next pause is the first one
};

/// An upstream server that is a program, in the cell of a sandbox of its own, which keeps its files. Lives until its
/// requests have ended.
class stdio_link final : public upstream_link, public std::enable_shared_from_this<stdio_link> {
public:
    /// Everything must outlive this. `runs`: null where sandboxes are not offered. `owner`: whose the sandbox is.
    stdio_link(asio::any_io_executor executor, const upstream_entry& entry, sandbox::backend& backend,
               sandbox_runner* runs, std::string owner, stdio_times times = {});
    ~stdio_link() override;

    awaitable<json::object> ask(upstream_request wanted) override;
    std::string protocol() const override { return is_open() ? protocol_ : std::string(); }
    bool is_open() const override;
    awaitable<> close() override;

private:
    using clock = event::clock;
    class use;

    awaitable<json::object> ask_open(upstream_request wanted);
    awaitable<> ready();
    static awaitable<> open(std::shared_ptr<stdio_link> self);
    static awaitable<std::string> try_to_open(std::shared_ptr<stdio_link> self);
    void back_off(clock::duration lived);
    awaitable<> open_now();
    awaitable<> initialize();
    awaitable<sandbox_record> place();
    sandbox::run_request request_in(const sandbox_record& where) const;
    static awaitable<> watch(std::shared_ptr<stdio_link> self, std::shared_ptr<stdio_process> process);
    awaitable<json::object> exchange(upstream_request wanted);
    static std::string end_of(const stdio_process& process);

    asio::any_io_executor executor_;
    const upstream_entry& entry_;
    sandbox::backend& backend_;
    sandbox_runner* runs_;
    std::string owner_;
    stdio_times times_;
    std::shared_ptr<stdio_process> process_;
    std::string protocol_;
    std::string problem_;  // with which the program ended
    bool stateless_ = false;
    bool ready_ = false;
    bool opening_ = false;
    bool closed_ = false;
    event opened_;
    std::chrono::milliseconds pause_{0};
    clock::time_point not_before_;
    clock::time_point used_;
    std::size_t uses_ = 0;
    std::int64_t next_id_ = 1;
    task_group tasks_;
};

}  // namespace cmcp
