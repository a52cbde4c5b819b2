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
class counting_iterator {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    counting_iterator() = default;
    counting_iterator(const char* at, std::size_t& looks) : at_(at), looks_(&looks) {}

    reference operator*() const
    {
        if (++*looks_ > most_looks) throw takes_too_long();
        return *at_;
    }
    pointer operator->() const { return at_; }
    reference operator[](difference_type by) const { return *(*this + by); }
    counting_iterator& operator++() { return ++at_, *this; }
    counting_iterator& operator--() { return --at_, *this; }
    counting_iterator operator++(int) { return {at_++, *looks_}; }
    counting_iterator operator--(int) { return {at_--, *looks_}; }
    counting_iterator& operator+=(difference_type by) { return at_ += by, *this; }
    counting_iterator& operator-=(difference_type by) { return at_ -= by, *this; }
    friend counting_iterator operator+(counting_iterator place, difference_type by) { return place += by; }
    friend counting_iterator operator+(difference_type by, counting_iterator place) { return place += by; }
    friend counting_iterator operator-(counting_iterator place, difference_type by) { return place -= by; }
    friend difference_type operator-(const counting_iterator& a, const counting_iterator& b) { return a.at_ - b.at_; }
    friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const counting_iterator& a, const counting_iterator& b) { return a.at_ <=> b.at_; }

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
    const counting_iterator begin(text.data(), looks), end(text.data() + text.size(), looks);
    return boost::regex_search(begin, end, compiled);
} catch (const std::runtime_error&) {
    return false;
}

}  // namespace cmcp
