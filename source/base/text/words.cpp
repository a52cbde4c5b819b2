#include "text/words.hpp"

#include <numeric>

namespace cmcp {

std::string joined(const std::vector<std::string>& words, std::string_view between)
{
    std::string text;
    for (const auto& word : words) text.append(&word == &words.front() ? "" : between).append(word);
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (std::size_t end; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
        parts.push_back(text.substr(0, end));
    parts.push_back(text);
    return parts;
}

std::size_t edit_distance(std::string_view a, std::string_view b)
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

std::string tell_unknown_words(std::string_view program, const std::vector<std::string>& unknown,
                               const std::vector<std::string>& flags, const std::vector<std::string>& commands)
{
    std::string lines;
    bool behind_flag = false;
    for (const std::string& word : unknown) {
        const bool is_flag = word.starts_with('-');
        if (!is_flag && behind_flag) continue;
        behind_flag = is_flag && word.find('=') == std::string::npos;
        const std::string name = is_flag ? word.substr(0, word.find('=')) : word;
        const auto& known = is_flag ? flags : commands;
        lines.append(program).append(": ").append(name).append(is_flag         ? " is no flag"
                                                               : known.empty() ? " is not expected"
                                                                               : " is no command");
        if (!known.empty()) lines.append("; the nearest is ").append(nearest_of(known, name));
        lines.append("\n");
    }
    return lines.append("`").append(program).append(" --help` lists what there is\n");
}

}  // namespace cmcp
