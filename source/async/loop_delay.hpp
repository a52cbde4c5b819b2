#pragma once

#include "async/asio.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <functional>

namespace cmcp {

/// How long something that has just arrived waits until the io thread gets to it: a descriptor that becomes readable
/// now and then queues behind whatever else is ready, and the time until it is seen is taken. Only asking makes it
/// measure: a server without requests sleeps.
class loop_delay {
public:
    using clock = std::chrono::steady_clock;

    /// Throws std::system_error when there is no descriptor. `seen`: told of each measurement.
    loop_delay(asio::any_io_executor executor, std::function<void(clock::duration)> seen);

    awaitable<> watch();  ///< until cancelled

    /// The last measurement, or how long the one under way has been taking already; zero where the last one is too old
    /// to say anything. Begins the next one, at most 20 times a second.
    clock::duration now();

private:
    void begin(clock::time_point time);

    asio::posix::stream_descriptor signal_;
    std::function<void(clock::duration)> seen_;
    clock::time_point sent_{};  // zero: none is under way
    clock::time_point ended_{};
    clock::duration last_{};
};

}  // namespace cmcp
