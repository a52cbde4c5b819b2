#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cmcp::load {

/// Durations in nanoseconds in log-linear buckets, as HdrHistogram keeps them: every value is known to within 1/128 of
/// itself, recording is a shift and an increment, and the size does not depend on how much was recorded.
class histogram {
public:
    void record(std::int64_t nanoseconds);
    void merge(const histogram& other);
    void clear();

    std::uint64_t count() const { return count_; }
    std::int64_t min() const { return count_ == 0 ? 0 : min_; }
    std::int64_t max() const { return max_; }
    double mean() const;

    /// The value below or at which `percent` of the values are (upper end of the bucket, at most max()); 0 when empty.
    std::int64_t percentile(double percent) const;

private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::int64_t min_ = 0;
    std::int64_t max_ = 0;
    double sum_ = 0;
};

/// The percentiles that reports show.
inline constexpr std::array<double, 6> shown_percentiles{50, 90, 95, 99, 99.9, 99.99};

}  // namespace cmcp::load
