#pragma once

#include "async/asio.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>

namespace cmcp {

/// How long something that has just arrived waits until the io thread gets to it: a descriptor that becomes readable now
/// and then queues behind whatever else is ready, and the time until it is seen is taken.
class loop_delay {
public:
    using clock = std::chrono::steady_clock;

    /// Throws std::system_error when there is no descriptor. `seen`: told of each measurement.
    loop_delay(asio::any_io_executor executor, std::function<void(clock::duration)> seen);

    awaitable<> watch();                        ///< until cancelled

    /// The last measurement, or how long the one under way has been taking already.
    clock::duration now() const;

private:
    asio::posix::stream_descriptor signal_;
    asio::steady_timer pause_;
    std::function<void(clock::duration)> seen_;
    clock::time_point sent_{};                  // zero: none is under way
    clock::duration last_{};
};

}  // namespace cmcp
