#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Ends the last line of `text`, where there is one that has not ended.
inline void begin_line(std::string& text)
{
    if (!text.empty() && text.back() != '\n') text += '\n';
}

/// A line behind the others; nothing where it is empty.
inline void add_line(std::string& text, std::string_view line)
{
    if (line.empty()) return;
    begin_line(text);
    text += line;
}

std::string joined(const std::vector<std::string>& words, std::string_view between);

/// The parts of `text` between the separators; one where there is no separator.
std::vector<std::string_view> split(std::string_view text, char separator);

/// How many characters must be inserted, deleted or replaced to make one of the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word of `words` that is least typing away from `word`. `words` is not empty.
template <class Words>
std::string_view nearest_of(const Words& words, std::string_view word)
{
    const auto start = word.substr(0, 64);
    const auto nearer = [&](std::string_view a, std::string_view b) {
        return edit_distance(start, a) < edit_distance(start, b);
    };
    return *std::min_element(words.begin(), words.end(), nearer);
}

/// The sentences of a program about words that are none of its flags and commands: a line each, in the order of
/// `unknown`. A word behind an unknown flag is taken for its value. `commands` may be empty.
std::string tell_unknown_words(std::string_view program, const std::vector<std::string>& unknown,
                               const std::vector<std::string>& flags, const std::vector<std::string>& commands);

}  // namespace cmcp
