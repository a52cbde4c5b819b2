#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace cmcp {

/// The latest entries of their kind, at most `most`. An entry's number tells how many came until it.
template <class T>
class recent {
public:
    explicit recent(std::size_t most) : most_(most) {}

    void add(T entry)
    {
        if (entries_.size() == most_) entries_.pop_front();
        entries_.push_back(std::move(entry));
        ++last_;
    }

    std::uint64_t last() const { return last_; }               ///< number of the newest; 0: there was none
    const std::deque<T>& entries() const { return entries_; }  ///< oldest first

    /// How many came after number `seen`, and are still there.
    std::size_t count_after(std::uint64_t seen) const
    {
        return static_cast<std::size_t>(std::min<std::uint64_t>(last_ - seen, entries_.size()));
    }

private:
    std::size_t most_;
    std::deque<T> entries_;
    std::uint64_t last_ = 0;
};

}  // namespace cmcp
