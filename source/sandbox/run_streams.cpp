#include "sandbox/run_streams.hpp"

#include "posix/bytes.hpp"

#include <boost/asio/this_coro.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <tuple>

namespace cmcp::sandbox {
namespace {

constexpr int pipe_size = 256 << 10;
constexpr std::size_t piece = 64 << 10;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

run_stream::run_stream(const asio::any_io_executor& executor, unique_fd& write_end) : pipe_(executor)
{
    unique_fd read_end;
    std::tie(read_end, write_end) = make_pipe();
    if (!read_end) fail("pipe2");
    ::fcntl(read_end.get(), F_SETPIPE_SZ,
            pipe_size);                            // the user's share of pipe memory may be used up: then the default
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // the reading end only: the run's own end blocks
    pipe_.assign(read_end.release());
}

awaitable<std::string> run_stream::read(std::size_t limit)
{
    std::string buffer(std::min(limit, piece), '\0');
    for (;;) {
        const ssize_t length = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
        if (length >= 0) {
            buffer.resize(static_cast<std::size_t>(length));
            co_return buffer;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) fail("read");
        if (ended_) co_return std::string();
        auto [error] = co_await pipe_.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
        if (error && !ended_) co_return std::string();
    }
}

void run_stream::run_ended()
{
    ended_ = true;
    pipe_.cancel();
}

awaitable<> pump(run_stream& from, stream name, output_receiver& output, std::uint64_t limit,
                 std::function<void()>& exceeded)
{
    std::uint64_t left = limit;
    bool over = false;
    for (;;) {
        const std::string bytes = co_await from.read(piece);
        if (bytes.empty()) co_return;
        const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
        left -= taken;
        if (taken < bytes.size() && !std::exchange(over, true)) exceeded();
        if (taken > 0) co_await output.receive(name, std::string_view(bytes).substr(0, taken));
    }
}

awaitable<> collect(run_stream& from, std::string& into, std::size_t limit)
{
    for (;;) {
        const std::string bytes = co_await from.read(piece);
        if (bytes.empty()) co_return;
        into.append(bytes, 0, limit - into.size());
    }
}

}  // namespace cmcp::sandbox
