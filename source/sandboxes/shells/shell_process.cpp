#include "shells/shell_process.hpp"

#include "async/uncancelled.hpp"
#include "async/with_deadline.hpp"
#include "posix/bytes.hpp"
#include "wire/packet_socket.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cmcp {
namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_reader = 10s;
constexpr auto patience_with_hang_up = 2s;
constexpr auto shell_ending_limit = 5s;
constexpr auto between_looks_at_closed = 100ms;  // a program may open its terminal anew

class no_output final : public sandbox::output_receiver {
public:
    awaitable<> receive(sandbox::stream, std::string_view) override { co_return; }
};

}  // namespace

shell_process::shell_process(asio::any_io_executor executor, sandbox::backend& backend)
    : executor_(executor), backend_(backend), channel_(executor), tasks_(executor)
{
}

void shell_process::start(sandbox::run_request request, sandbox::terminal_size size, tool_rights::ticket right)
{
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    channel_.assign(ours.release());
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    request.terminal = size;
    tasks_.spawn("shell", run(std::move(request), std::move(right)));
}

void shell_process::start_plain(sandbox::run_request request, tool_rights::ticket right)
{
    auto [theirs, ours] = make_pipe();
    if (!ours) throw std::system_error(errno, std::generic_category(), "no pipe for a program");
    streams_ = std::make_shared<program_streams>(executor_, std::move(ours));
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    tasks_.spawn("input of a program", write_input(streams_));
    tasks_.spawn("program", run(std::move(request), std::move(right)));
}

awaitable<> shell_process::write_input(std::shared_ptr<program_streams> to) { co_await to->write_input(); }

// The coroutine keeps the object alive.
awaitable<> shell_process::run(sandbox::run_request request, tool_rights::ticket right)
{
    const auto self = shared_from_this();
    no_output nothing;
    const auto streams = streams_;
    sandbox::output_receiver& output = streams ? static_cast<sandbox::output_receiver&>(*streams) : nothing;
    sandbox::run_result ended;
    ended.why = sandbox::cause::cancelled;
    try {
        ended = co_await backend_.run(std::move(request), output);
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) ended.error = failure.what();
    }
    right = {};
    end_ = std::move(ended);
    if (terminal_) terminal_->wake();
    if (streams) streams->finish(end_->error);
    changed_.notify();
}

awaitable<bool> shell_process::opened()
{
    const auto self = shared_from_this();
    if (streams_) co_return true;
    terminal_ = co_await sandbox::terminal_master::receive(channel_);
    boost::system::error_code ignored;
    channel_.close(ignored);
    if (terminal_) own_group_ = terminal_->read_modes().foreground;
    if (!terminal_) co_await wait_for_end(shell_ending_limit);
    co_return terminal_.has_value();
}

awaitable<std::string> shell_process::read(std::size_t most)
{
    const auto self = shared_from_this();
    while (terminal_ && terminal_->is_open()) {
        const bool over = end_.has_value();
        std::string bytes = terminal_->read_now(most);
        if (bytes.empty() && !over) bytes = co_await terminal_->read(most);
        if (!bytes.empty() || over) co_return bytes;
        if (!end_) co_await changed_.wait(event::clock::now() + between_looks_at_closed);
    }
    co_return std::string();
}

awaitable<bool> shell_process::type(std::string keys)
{
    const auto self = shared_from_this();
    if (!terminal_ || end_) co_return false;
    bool typed = false;
    try {
        auto writing = terminal_->write(std::move(keys));
        typed = co_await with_deadline(std::move(writing), patience_with_reader);
    } catch (const deadline_exceeded&) {
        typed = false;
    }
    co_return typed;
}

terminal_reader shell_process::reader()
{
    if (!terminal_) return {};
    const auto modes = terminal_->read_modes();
    terminal_reader seen;
    seen.by_line = modes.by_line;
    seen.end_of_input = modes.end_of_input;
    seen.is_shell = modes.foreground != 0 && modes.foreground == own_group_;
    return seen;
}

void shell_process::resize(sandbox::terminal_size size)
{
    if (terminal_) terminal_->resize(size);
}

bool shell_process::signal(int number) { return terminal_ && terminal_->signal(number); }

awaitable<> shell_process::wait_for_end(event::clock::duration limit)
{
    const auto until = event::clock::now() + limit;
    while (!end_ && event::clock::now() < until) co_await changed_.wait(until);
}

awaitable<> shell_process::finish()
{
    const auto self = shared_from_this();
    if (terminal_) {
        terminal_->close();
        co_await wait_for_end(patience_with_hang_up);
    }
    if (end_) co_return;
    tasks_.cancel_all();
    co_await wait_for_end(shell_ending_limit);
}

}  // namespace cmcp
