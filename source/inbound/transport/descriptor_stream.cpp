#include "transport/descriptor_stream.hpp"

#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/write.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

namespace {

constexpr std::size_t chunk = 64 * 1024;

unique_fd duplicate(int fd)
{
    unique_fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) throw std::system_error(errno, std::generic_category(), "cannot use a standard stream");
    return copy;
}

bool suits_reactor(int fd)
{
    struct stat what {};
    if (::fstat(fd, &what) != 0) return false;
    return S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode) || ::isatty(fd) == 1;
}

std::string read_blocking(int fd)
{
    std::string bytes(chunk, '\0');
    ssize_t count = -1;
    do count = ::read(fd, bytes.data(), bytes.size());
    while (count < 0 && errno == EINTR);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
}

}  // namespace

descriptor_stream::descriptor_stream(asio::any_io_executor executor, int fd)
    : descriptor_(executor), original_(fd), original_flags_(::fcntl(fd, F_GETFL))
{
    auto copy = duplicate(fd);
    if (!suits_reactor(copy.get())) thread_ = std::make_unique<blocking_pool>(1);
    descriptor_.assign(copy.get());
    copy.release();
}

descriptor_stream::~descriptor_stream()
{
    thread_.reset();
    // The reactor made the open file non-blocking, and that is shared with other processes (the user's shell).
    if (original_flags_ >= 0) ::fcntl(original_, F_SETFL, original_flags_);
}

awaitable<std::string> descriptor_stream::read_some()
{
    if (thread_) {
        const int fd = descriptor_.native_handle();
        auto job = [fd] { return read_blocking(fd); };
        std::string bytes = co_await thread_->run(blocking_pool::server, std::move(job));
        co_return bytes;
    }
    std::string bytes(chunk, '\0');
    auto buffer = asio::buffer(bytes);
    auto [failure, count] = co_await descriptor_.async_read_some(buffer, as_tuple);
    bytes.resize(failure ? 0 : count);
    co_return bytes;
}

awaitable<bool> descriptor_stream::write(std::string bytes)
{
    if (thread_) {
        const int fd = descriptor_.native_handle();
        auto job = [fd, kept = std::move(bytes)] { return write_all(fd, kept); };
        const bool done = co_await thread_->run(blocking_pool::server, std::move(job));
        co_return done;
    }
    auto buffer = asio::buffer(bytes);
    auto [failure, count] = co_await asio::async_write(descriptor_, buffer, as_tuple);
    co_return !failure;
}

}  // namespace cmcp
