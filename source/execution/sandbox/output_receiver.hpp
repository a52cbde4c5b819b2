#pragma once

#include "async/asio.hpp"

#include <chrono>
#include <string_view>

namespace cmcp::sandbox {

enum class stream { out, err };

/// Takes a run's output as it appears. While receive() is suspended the pipe is not read, so the run is slowed.
class output_receiver {
public:
    virtual ~output_receiver() = default;

    /// `bytes` is valid until the returned awaitable has completed.
    virtual awaitable<> receive(stream from, std::string_view bytes) = 0;

    /// The run's time is over: how much more it gets; 0: none, so it is ended. Asked once.
    virtual awaitable<std::chrono::milliseconds> more_time() { co_return std::chrono::milliseconds(0); }
};

}  // namespace cmcp::sandbox
