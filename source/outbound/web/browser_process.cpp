#include "web/browser_process.hpp"

#include "async/event.hpp"
#include "log/log.hpp"

#include <fcntl.h>

#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

using sandbox::cause;

/// Keeps the end of what the browser says of its errors.
class last_words final : public sandbox::output_receiver {
public:
    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        constexpr std::size_t most = 4096;
        if (from == sandbox::stream::err) text_.append(bytes);
        if (text_.size() > most) text_.erase(0, text_.size() - most);
        co_return;
    }

    std::string last_line() const
    {
        const std::string_view whole = std::string_view(text_).substr(0, text_.find_last_not_of("\n ") + 1);
        return std::string(whole.substr(whole.rfind('\n') + 1));  // npos + 1 is 0
    }

private:
    std::string text_;
};

// proc_pid_fdinfo(5), as the kernel numbers processes for the server.
int number_of(const unique_fd& pidfd)
{
    std::ifstream about("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
    int number = -1;
    for (std::string word; about >> word;)
        if (word == "Pid:") about >> number;
    return number;
}

std::string describe_end(const sandbox::run_result& end, const std::string& said)
{
    if (!end.error.empty()) return end.error;
    if (end.why == cause::signalled) return "signal " + std::to_string(end.signal);
    if (end.why != cause::exited) return std::string(to_string(end.why));
    return "exit code " + std::to_string(end.exit_code) + (said.empty() ? "" : ": " + said);
}

}  // namespace

/// State that the coroutine of the run and the object share.
struct browser_process::life {
    last_words error;
    event changed;
    bool over = false;
    bool failed = false;  ///< before the program
    std::string end = "it was stopped";
};

browser_process::browser_process(asio::any_io_executor executor, sandbox::backend& backend,
                                 sandbox::run_request request)
    : executor_(executor), life_(std::make_shared<life>()), stream_(executor), door_(executor), tasks_(executor)
{
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    door_.assign(::fcntl(ours.get(), F_DUPFD_CLOEXEC, 0));
    stream_.assign(asio::local::stream_protocol(), ours.release());
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    request.limits.output = std::numeric_limits<std::uint64_t>::max();
    tasks_.spawn("browser", run(backend, std::move(request), life_));
}

awaitable<> browser_process::run(sandbox::backend& backend, sandbox::run_request request, std::shared_ptr<life> of)
{
    const std::shared_ptr<void> end(nullptr, [of](void*) {
        of->over = true;
        of->changed.notify();
    });
    const auto ended = co_await backend.run(std::move(request), of->error);
    of->failed = ended.why == cause::setup_failed;
    of->end = describe_end(ended, of->error.last_line());
}

awaitable<> browser_process::started()
{
    std::optional<sandbox::packet> first;
    while (!(first = sandbox::receive_packet(door_.native_handle())))
        co_await door_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    door_.close();
    if (first->descriptors.size() > 1) co_return take_door(std::move(*first));
    const std::string how = co_await ended();
    if (life_->failed) throw browser_unavailable("The browser cannot be started. " + how);
    throw browser_unavailable("The browser ended while it was being started (" + how + ").");
}

void browser_process::take_door(sandbox::packet first)
{
    own_sandbox_ = first.bytes.front() == sandbox::browser_part::own_sandbox;
    pid_ = number_of(first.descriptors.back());
    first.descriptors.pop_back();
    for (auto& fd : first.descriptors) {
        listeners_.emplace_back(executor_);
        listeners_.back().assign(asio::ip::tcp::v4(), fd.release());
    }
}

awaitable<std::string> browser_process::ended()
{
    const auto its = life_;
    while (!its->over) co_await its->changed.wait();
    co_return its->end;
}

awaitable<> browser_process::stop(std::chrono::milliseconds limit)
{
    tasks_.cancel_all();
    const bool gone = co_await tasks_.wait_idle(limit);
    if (!gone) log::warning("browser_did_not_stop", {{"pid", pid_}});
}

}  // namespace cmcp
