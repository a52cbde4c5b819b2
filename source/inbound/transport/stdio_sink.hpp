#pragma once

#include "async/event.hpp"
#include "mcp/message_sink.hpp"
#include "transport/descriptor_stream.hpp"

#include <deque>

namespace cmcp {

/// Standard output: one message a line, written by one coroutine (run). At most a megabyte waits, then send() waits
/// too.
class stdio_sink final : public message_sink {
public:
    stdio_sink(asio::any_io_executor executor, int fd);

    awaitable<bool> send(outgoing message) override;

    /// Writes until finish() has been called and all is written, or until the reader is gone.
    awaitable<> run();
    void finish();

private:
    descriptor_stream stream_;
    event changed_;
    std::deque<std::string> lines_;
    std::size_t waiting_bytes_ = 0;
    bool finishing_ = false;
    bool broken_ = false;
};

}  // namespace cmcp
