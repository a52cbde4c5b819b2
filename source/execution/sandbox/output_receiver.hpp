#pragma once

#include "async/asio.hpp"

#include <string_view>

namespace cmcp::sandbox {

enum class stream { out, err };

/// Takes a run's output as it appears. While receive() is suspended the pipe is not read, so the run is slowed.
class output_receiver {
public:
    virtual ~output_receiver() = default;

    /// `bytes` is valid until the returned awaitable has completed.
    virtual awaitable<> receive(stream from, std::string_view bytes) = 0;
};

}  // namespace cmcp::sandbox
