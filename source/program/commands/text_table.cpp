#include "commands/text_table.hpp"

#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

#include <sys/ioctl.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

constexpr std::string_view ellipsis = "…";
constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 6;  // of a column that is cut

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Of UTF-8, a character a place.
std::size_t characters_in(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// The output of a program must not move the cursor.
std::string tame(std::string_view text)
{
    std::string plain;
    for (const char c : text) plain += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    return plain;
}

std::string cut(std::string text, std::size_t places)
{
    if (characters_in(text) <= places) return text;
    std::size_t at = 0, seen = 0;
    while (at < text.size() && (seen < places - 1 || !begins_character(text[at])))
        if (begins_character(text[at++]) && ++seen == places) break;
    while (at > 0 && at < text.size() && !begins_character(text[at])) --at;
    return text.substr(0, at) + std::string(ellipsis);
}

std::string one_decimal(double number, std::string_view unit)
{
    std::array<char, 32> text{};
    const int places = number < 10 ? 1 : 0;
    std::snprintf(text.data(), text.size(), "%.*f", places, number);
    return std::string(text.data()).append(unit);
}

}  // namespace

std::vector<std::size_t> text_table::widths(std::size_t most) const
{
    std::vector<std::size_t> wide;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        wide.push_back(characters_in(columns_[i].title));
        for (const auto& row : rows_) wide[i] = std::max(wide[i], characters_in(row[i]));
    }
    const auto total = [&] { return std::accumulate(wide.begin(), wide.end(), gap * (wide.size() - 1)); };
    while (total() > most) {
        std::size_t widest = wide.size();
        for (std::size_t i = 0; i < wide.size(); ++i)
            if (columns_[i].may_cut && wide[i] > narrowest && (widest == wide.size() || wide[i] > wide[widest]))
                widest = i;
        if (widest == wide.size()) break;
        --wide[widest];
    }
    return wide;
}

std::string text_table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& wide) const
{
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto cell = cut(tame(cells[i]), wide[i]);
        const std::string blanks(wide[i] - std::min(wide[i], characters_in(cell)), ' ');
        if (i != 0) out.append(gap, ' ');
        out += columns_[i].is_number ? blanks + cell : cell + blanks;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + '\n';
}

std::string text_table::text(std::size_t width) const
{
    const auto wide = widths(width);
    std::vector<std::string> titles;
    for (const auto& each : columns_) titles.push_back(each.title);
    std::string out = line(titles, wide);
    for (const auto& row : rows_) out += line(row, wide);
    return out;
}

bool prints_whole() { return ::isatty(STDOUT_FILENO) != 1 && std::getenv("COLUMNS") == nullptr; }

std::size_t terminal_width()
{
    if (prints_whole()) return std::numeric_limits<std::size_t>::max();
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
    const char* columns = std::getenv("COLUMNS");
    return columns == nullptr ? 80 : std::max<std::size_t>(20, read_number<std::size_t>(columns).value_or(80));
}

std::string short_handle(std::string_view handle)
{
    constexpr std::size_t shown = 8;
    const auto mark = handle.find('_');
    if (mark == std::string_view::npos || handle.size() < mark + 3 * shown) return std::string(handle);
    return std::string(handle.substr(0, mark + 1)).append(ellipsis).append(handle.substr(handle.size() - shown));
}

bool names_handle(std::string_view word, std::string_view handle)
{
    constexpr std::size_t least = 4;
    if (word == handle) return true;
    if (const auto dots = word.find(ellipsis); dots != std::string_view::npos) {
        if (!handle.starts_with(word.substr(0, dots))) return false;
        word.remove_prefix(dots + ellipsis.size());
    }
    return word.size() >= least && handle.size() > word.size() && handle.ends_with(word);
}

std::string bytes_text(double bytes)
{
    constexpr std::array<std::string_view, 5> units{" B", " KiB", " MiB", " GiB", " TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    return unit == 0 ? std::to_string(std::llround(bytes)) + " B" : one_decimal(bytes, units[unit]);
}

std::string duration_text(double seconds)
{
    const auto whole = static_cast<long long>(std::max(0.0, seconds));
    const auto two = [](long long many, const char* unit, long long few, const char* smaller) {
        return std::to_string(many) + unit + (few == 0 ? "" : " " + std::to_string(few) + smaller);
    };
    if (whole < 60) return one_decimal(std::max(0.0, seconds), "s");
    if (whole < 3600) return two(whole / 60, "m", whole % 60, "s");
    if (whole < 86400) return two(whole / 3600, "h", whole % 3600 / 60, "m");
    return two(whole / 86400, "d", whole % 86400 / 3600, "h");
}

}  // namespace cmcp::command
