#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace cmcp {

/// How many characters must be inserted, deleted or replaced to make one of the other (Levenshtein).
inline std::size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const auto replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

/// The one of `words` that is least typing away from `word`; there must be one.
template <class Words>
std::string_view nearest_of(const Words& words, std::string_view word)
{
    const auto start = word.substr(0, 64);
    const auto nearer = [&](std::string_view a, std::string_view b) {
        return edit_distance(start, a) < edit_distance(start, b);
    };
    return *std::min_element(words.begin(), words.end(), nearer);
}

}  // namespace cmcp
