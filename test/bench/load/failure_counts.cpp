#include "load/failure_counts.hpp"

namespace cmcp::load {

void failure_counts::add(const failure& one, std::uint64_t times)
{
    auto& kind = kinds_[one.kind];
    if (kind.first_text.empty()) kind.first_text = one.text;
    kind.count += times;
}

void failure_counts::merge(const failure_counts& other)
{
    for (const auto& [kind, seen] : other.kinds_) add({kind, seen.first_text}, seen.count);
}

std::uint64_t failure_counts::sum() const
{
    std::uint64_t all = 0;
    for (const auto& [kind, seen] : kinds_) all += seen.count;
    return all;
}

std::string one_line(std::string_view text)
{
    constexpr std::size_t longest = 240;
    std::string line;
    for (unsigned char c : text.substr(0, 4 * longest)) {
        bool blank = c <= ' ' || c == 0x7f;
        bool next_character = (c & 0xc0) != 0x80;
        if (line.size() >= longest && next_character) return line + "…";
        if (!blank)
            line += static_cast<char>(c);
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
}

}  // namespace cmcp::load
