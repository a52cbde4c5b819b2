#pragma once

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace cmcp::test {

/// The factor for all times, from CMCP_TEST_SLOW; emulated machines need more than 1.
inline int slowness()
{
    const char* factor = std::getenv("CMCP_TEST_SLOW");
    return factor != nullptr ? std::max(1, std::atoi(factor)) : 1;
}

/// Runs `pass_time` until `condition` holds, which is what it returns. The limit is for failures alone.
template <class Condition, class Pass>
bool holds_after(Condition condition, Pass pass_time)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60) * slowness();
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        pass_time();
    }
    return true;
}

/// Waits until `condition` holds, and says whether it does. The one place of the tests in C++ that sleeps.
template <class Condition>
bool eventually(Condition condition)
{
    return holds_after(condition, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

/// The same for what a loop of the present thread brings about.
template <class Condition>
bool eventually(boost::asio::io_context& io, Condition condition)
{
    return holds_after(condition, [&] {
        io.restart();
        io.run_one_for(std::chrono::milliseconds(20));
    });
}

}  // namespace cmcp::test
