#include "load/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cmcp::load {

namespace {

constexpr unsigned precision_bits = 7;  // 128 buckets for each power of two
constexpr std::uint64_t linear = 1u << precision_bits;
constexpr std::int64_t longest = 3'600'000'000'000;  // an hour

std::size_t bucket_of(std::int64_t value)
{
    auto v = static_cast<std::uint64_t>(value);
    if (v < linear) return v;
    auto shift = static_cast<unsigned>(std::bit_width(v)) - precision_bits - 1;
    return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(v >> shift);
}

std::int64_t upper_end(std::size_t bucket)
{
    if (bucket < linear) return static_cast<std::int64_t>(bucket);
    auto shift = (bucket >> precision_bits) - 1;
    auto top = (bucket & (linear - 1)) + linear;
    return static_cast<std::int64_t>(((top + 1) << shift) - 1);
}

}  // namespace

void histogram::record(std::int64_t nanoseconds)
{
    auto value = std::clamp<std::int64_t>(nanoseconds, 0, longest);
    auto bucket = bucket_of(value);
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    ++buckets_[bucket];
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += static_cast<double>(value);
    ++count_;
}

void histogram::merge(const histogram& other)
{
    if (other.count_ == 0) return;
    if (buckets_.size() < other.buckets_.size()) buckets_.resize(other.buckets_.size());
    for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
    count_ += other.count_;
}

void histogram::clear() { *this = {}; }

double histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

std::int64_t histogram::percentile(double percent) const
{
    if (count_ == 0) return 0;
    auto wanted = static_cast<std::uint64_t>(std::ceil(static_cast<double>(count_) * percent / 100.0));
    wanted = std::clamp<std::uint64_t>(wanted, 1, count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return std::min(upper_end(i), max_);
    }
    return max_;
}

}  // namespace cmcp::load
