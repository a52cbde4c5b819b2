#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

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

/// The least processor time of some calls of `work` on an input of one size. What it only reads is made once.
template <class Input, class Work>
class least_time {
public:
    least_time(Input input, Work work, std::size_t size)
        : input_(std::move(input)), work_(std::move(work)), size_(size), value_(input_(size))
    {
    }

    double of(int calls)
    {
        double least = std::numeric_limits<double>::max();
        for (; calls > 0; --calls) {
            if (is_used_ && !std::is_invocable_v<Work&, const value&>) value_.emplace(input_(size_));
            is_used_ = true;
            const auto began = thread_time();
            work_(*value_);
            least = std::min(least, std::chrono::duration<double>(thread_time() - began).count());
        }
        return least;
    }

private:
    using value = std::decay_t<std::invoke_result_t<Input&, std::size_t>>;

    Input input_;
    Work work_;
    std::size_t size_;
    std::optional<value> value_;
    bool is_used_ = false;
};

/// Double the input, less than this times the time.
inline constexpr double linear_growth = 2.5;

/// How much more processor time `work(input(2 * size))` takes than `work(input(size))`: about 2 where the work is
/// linear, 4 where it is quadratic. What others do on a busy machine can only add to a time, so the best of two calls
/// counts, and where that speaks of more than linear work the least growth of some tries with the best of five.
/// `size`: large enough that one call takes a millisecond or more.
template <class Input, class Work>
double growth(Input input, Work work, std::size_t size)
{
    keep_freed_memory();
    least_time once(input, work, size), twice(input, work, 2 * size);
    double least = std::numeric_limits<double>::max();
    for (const int calls : {2, 5, 5, 5, 5}) {
        const double base = once.of(calls);
        least = std::min(least, twice.of(calls) / base);
        if (least < linear_growth) break;
    }
    return least;
}

}  // namespace cmcp::test
