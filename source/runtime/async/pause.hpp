#pragma once

#include "async/asio.hpp"

#include <chrono>

namespace cmcp {

/// Ends after `time`. Cancelled: throws boost::system::system_error.
awaitable<> pause_for(std::chrono::milliseconds time);

}  // namespace cmcp
