#include "config/labels.hpp"

#include "text/words.hpp"

#include <algorithm>
#include <cctype>

namespace cmcp {

namespace {

constexpr std::size_t longest_part = 63;

bool is_part(std::string_view text)
{
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
    return !text.empty() && text.size() <= longest_part && std::ranges::all_of(text, fits);
}

}  // namespace

std::optional<label_map> read_labels(const std::vector<std::string>& words)
{
    label_map all;
    for (const auto& word : words) {
        const auto parts = split(word, '=');
        if (parts.size() != 2 || !is_part(parts[0]) || !is_part(parts[1])) return std::nullopt;
        const auto [at, is_new] = all.try_emplace(std::string(parts[0]), parts[1]);
        if (!is_new && at->second != parts[1]) return std::nullopt;
    }
    return all;
}

bool has_labels(const label_map& there, const label_map& wanted)
{
    return std::ranges::all_of(wanted, [&there](const auto& each) {
        const auto at = there.find(each.first);
        return at != there.end() && at->second == each.second;
    });
}

std::string labels_text(const label_map& labels)
{
    std::vector<std::string> words;
    for (const auto& [name, value] : labels) words.push_back(name + "=" + value);
    return joined(words, ",");
}

label_map labels_in(std::string_view text)
{
    std::vector<std::string> words;
    for (const auto word : split(text, ','))
        if (!word.empty()) words.emplace_back(word);
    return read_labels(words).value_or(label_map());
}

}  // namespace cmcp
