#pragma once

#include "async/asio.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <functional>

namespace cmcp {

/// The time from the arrival of input to its handling by the io thread. A descriptor that becomes readable now and then
/// queues behind the other ready ones, and its waiting time is taken. Only a call of now() begins a measurement, so a
/// server without requests sleeps.
class loop_delay {
public:
    using clock = std::chrono::steady_clock;

    /// Throws std::system_error when there is no descriptor. `seen`: called with each measurement.
    loop_delay(asio::any_io_executor executor, std::function<void(clock::duration)> seen);

    awaitable<> watch();  ///< until cancelled

    /// The last measurement, or the time that the present one has taken so far; zero when the last one is too old.
    /// Begins the next measurement, at most 20 times a second.
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
