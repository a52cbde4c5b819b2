#include "snapshots/chunk_cutter.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::snapshots {

namespace {

// Up to this size cuts are sixteen times as rare as behind it, so sizes gather around a mean of 1 MiB.
constexpr std::size_t normal_chunk = 832 * 1024;

// A cut is where the hash is below the bound. Its high bits depend on the 64 bytes before, its low ones on few of them.
constexpr std::uint64_t rare_bound = std::uint64_t{1} << (64 - 22);
constexpr std::uint64_t frequent_bound = std::uint64_t{1} << (64 - 18);

// SplitMix64. The table must never change, because with another one snapshots share no chunks with earlier ones.
std::uint64_t next_number(std::uint64_t& state)
{
    std::uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

}  // namespace

chunk_cutter::chunk_cutter(std::uint64_t seed, receiver give) : give_(std::move(give))
{
    for (auto& number : gear_) number = next_number(seed);
    chunk_.reserve(largest_chunk);
}

void chunk_cutter::put(std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto length = length_of_part(bytes);
        chunk_.append(bytes.substr(0, length));
        bytes.remove_prefix(length);
        if (at_cut_ || chunk_.size() == largest_chunk) give_chunk();
    }
}

void chunk_cutter::finish()
{
    if (!chunk_.empty()) give_chunk();
}

// Bytes that belong to the chunk: up to a cut, or to where another bound holds.
std::size_t chunk_cutter::length_of_part(std::string_view bytes)
{
    const auto size = chunk_.size();
    if (size < least_chunk) return std::min(bytes.size(), least_chunk - size);
    if (size < normal_chunk) return look_for_cut(bytes.substr(0, normal_chunk - size), rare_bound);
    return look_for_cut(bytes.substr(0, largest_chunk - size), frequent_bound);
}

std::size_t chunk_cutter::look_for_cut(std::string_view part, std::uint64_t bound)
{
    std::uint64_t hash = hash_;
    std::size_t at = 0;
    while (at < part.size() && !at_cut_) {
        hash = (hash << 1) + gear_[static_cast<unsigned char>(part[at++])];
        at_cut_ = hash < bound;
    }
    hash_ = hash;
    return at;
}

void chunk_cutter::give_chunk()
{
    give_(chunk_);
    chunk_.clear();
    hash_ = 0;
    at_cut_ = false;
}

}  // namespace cmcp::snapshots
