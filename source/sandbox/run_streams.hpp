#pragma once

#include "posix/unique_fd.hpp"
#include "sandbox/output_receiver.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace cmcp::sandbox {

/// The reading end of a pipe from a run.
class run_stream {
public:
    /// Makes the pipe; returns the writing end by `write_end`. Throws std::system_error.
    run_stream(const asio::any_io_executor& executor, unique_fd& write_end);

    /// The next piece, at most `limit` bytes, waiting for it. Nothing: the pipe is at its end, the run is over and the
    /// pipe is empty, or the wait was cancelled.
    awaitable<std::string> read(std::size_t limit);

    /// The run is over: the rest of the pipe is still read, but nobody will write more.
    void run_ended();

private:
    asio::posix::stream_descriptor pipe_;
    bool ended_ = false;
};

/// Hands the bytes of the stream to `output` until its end. After `limit` bytes it calls `exceeded` once and throws the
/// rest away. Exceptions of receive() are passed on.
awaitable<> pump(run_stream& from, stream name, output_receiver& output, std::uint64_t limit,
                 std::function<void()>& exceeded);

/// Collects at most `limit` bytes into `into`; the rest is thrown away.
awaitable<> collect(run_stream& from, std::string& into, std::size_t limit);

}  // namespace cmcp::sandbox
