#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

/// A standard stream: a pipe, a socket or a terminal by the reactor; a file or a device, which epoll refuses,
/// by a thread. The descriptor stays the caller's: it is neither closed nor left non-blocking.
class descriptor_stream {
public:
    /// Throws std::system_error when `fd` cannot be duplicated.
    descriptor_stream(asio::any_io_executor executor, int fd);
    descriptor_stream(const descriptor_stream&) = delete;
    descriptor_stream& operator=(const descriptor_stream&) = delete;
    ~descriptor_stream();

    /// The bytes that are there, at least one; empty at the end of the stream, on an error and when cancelled.
    awaitable<std::string> read_some();

    /// Writes all; false when the other side is gone or when cancelled.
    awaitable<bool> write(std::string bytes);

private:
    asio::posix::stream_descriptor descriptor_;
    int original_;
    int original_flags_;
    std::unique_ptr<blocking_pool> thread_;  // only for what the reactor refuses
};

}  // namespace cmcp
