#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Finds several values in a text in one pass (Aho and Corasick). Each byte is one step through a table, whatever the
/// values are: nothing but a whole value makes a difference. Case does not count, and a blank is a '+', as in forms.
class value_automaton {
public:
    value_automaton() = default;
    explicit value_automaton(const std::vector<std::string>& values);  ///< none of them empty

    /// Calls report(number of the value, byte behind it) for each value in the text, also where they overlap.
    template <class Found>
    void search(std::string_view text, Found report) const
    {
        std::uint32_t row = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            row = next_[row + class_of_[static_cast<unsigned char>(text[at])]];
            if (row < first_final_) continue;
            for (auto end = first_end_[row / classes_]; end != none; end = ends_[end].next)
                report(ends_[end].value, at + 1);
        }
    }

    /// Calls report(number of the value, byte behind it, other byte) for values that begin with the last characters of
    /// another way to read one byte, which other_way(byte) gives, or an empty text, and go on behind that byte. Of two
    /// beginnings at a time the longer one counts.
    template <class OtherWay, class Found>
    void search_other_ways(std::string_view text, OtherWay other_way, Found report) const
    {
        std::uint32_t row = 0;
        std::size_t from = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            row = next_[row + class_of_[static_cast<unsigned char>(text[at])]];
            const std::string_view other = other_way(at);
            if (!other.empty()) {
                std::uint32_t anew = 0;
                for (const char c : other) anew = next_[anew + class_of_[static_cast<unsigned char>(c)]];
                const bool is_longer = depth_[anew / classes_] >= depth_[row / classes_];
                row = is_longer ? anew : row;
                from = is_longer ? at : from;
            }
            if (row < first_final_) continue;
            for (auto end = first_end_[row / classes_]; end != none; end = ends_[end].next)
                report(ends_[end].value, at + 1, from);
        }
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// A value that ends in a state, and a shorter one that ends there, too.
    struct value_end {
        std::uint32_t value = 0, next = none;
    };
    void sort_into_classes(const std::vector<std::string>& values);
    void add(std::string_view text, std::uint32_t number);
    void close();
    void sort(const std::vector<std::uint32_t>& rows);

    std::array<std::uint8_t, 256> class_of_{};  // 0: in no value
    std::uint32_t classes_ = 1;
    std::uint32_t first_final_ = none;      // the first row of those in which values end
    std::vector<std::uint32_t> next_;       // by state and class: where the row of the next state begins
    std::vector<std::uint32_t> first_end_;  // by state, in ends_
    std::vector<std::uint32_t> depth_;      // by state: the bytes of a value that it has
    std::vector<value_end> ends_;
};

}  // namespace cmcp
