#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

#include <malloc.h>
#include <time.h>

namespace cmcp::test {

/// Processor time that the present thread has used.
inline std::chrono::nanoseconds thread_time()
{
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Lets the process keep the memory that it frees: otherwise a larger input, and only that, pays for fresh pages each
/// time.
inline void keep_freed_memory()
{
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// How much more processor time `work(input(2 * size))` takes than `work(input(size))`: about 2 where the work is
/// linear, 4 where it is quadratic. Each time is the best of five, so that what else the machine does counts for
/// little. `size`: large enough that one call takes a millisecond or more.
template <class Input, class Work>
double growth_once(Input input, Work work, std::size_t size)
{
    keep_freed_memory();
    const auto best = [&](std::size_t of) {
        double least = std::numeric_limits<double>::max();
        for (int i = 0; i < 5; ++i) {
            auto value = input(of);
            const auto began = thread_time();
            work(value);
            least = std::min(least, std::chrono::duration<double>(thread_time() - began).count());
        }
        return least;
    };
    const double once = best(size);
    return best(2 * size) / once;
}

/// Double the input, less than this times the time.
inline constexpr double linear_growth = 2.5;

/// The least growth of some tries. What others do on a busy machine can only add to it, and quadratic work doubles
/// twice in each of them.
template <class Input, class Work>
double growth(Input input, Work work, std::size_t size)
{
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 4 && least >= linear_growth; ++i) least = std::min(least, growth_once(input, work, size));
    return least;
}

}  // namespace cmcp::test
