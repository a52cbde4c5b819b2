#include "shells/shell_pattern.hpp"

#include <boost/regex.hpp>

#include <cstddef>
#include <iterator>
#include <stdexcept>

namespace cmcp {

namespace {

// Some milliseconds. An expression that backtracks for ever is given up: its caller waits for something else in vain.
constexpr std::size_t most_looks = 200'000;

struct takes_too_long : std::runtime_error {
    takes_too_long() : std::runtime_error("the comparison takes too long") {}
};

/// A place in a text that counts how often a character is looked at: Boost's own bound comes after tenths of a second.
class counted_place {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    counted_place() = default;
    counted_place(const char* at, std::size_t& looks) : at_(at), looks_(&looks) {}

    reference operator*() const
    {
        if (++*looks_ > most_looks) throw takes_too_long();
        return *at_;
    }
    pointer operator->() const { return at_; }
    reference operator[](difference_type by) const { return *(*this + by); }
    counted_place& operator++() { return ++at_, *this; }
    counted_place& operator--() { return --at_, *this; }
    counted_place operator++(int) { return {at_++, *looks_}; }
    counted_place operator--(int) { return {at_--, *looks_}; }
    counted_place& operator+=(difference_type by) { return at_ += by, *this; }
    counted_place& operator-=(difference_type by) { return at_ -= by, *this; }
    friend counted_place operator+(counted_place place, difference_type by) { return place += by; }
    friend counted_place operator+(difference_type by, counted_place place) { return place += by; }
    friend counted_place operator-(counted_place place, difference_type by) { return place -= by; }
    friend difference_type operator-(const counted_place& a, const counted_place& b) { return a.at_ - b.at_; }
    friend bool operator==(const counted_place& a, const counted_place& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const counted_place& a, const counted_place& b) { return a.at_ <=> b.at_; }

private:
    const char* at_ = nullptr;
    std::size_t* looks_ = nullptr;
};

}  // namespace

std::string pattern_problem(const std::string& pattern)
try {
    const boost::regex compiled(pattern.empty() ? "x" : pattern);
    return {};
} catch (const std::runtime_error& problem) {
    return problem.what();
}

bool matches_pattern(const std::string& text, const std::string& pattern)
try {
    const boost::regex compiled(pattern);
    std::size_t looks = 0;
    const counted_place begin(text.data(), looks), end(text.data() + text.size(), looks);
    return boost::regex_search(begin, end, compiled);
} catch (const std::runtime_error&) {
    return false;
}

}  // namespace cmcp
