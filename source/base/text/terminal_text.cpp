#include "text/terminal_text.hpp"

#include "text/utf8_text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr char escape = '\x1b';
constexpr std::string_view controls = "\r\b\x1b";

// A control sequence of ECMA-48: the bytes behind ESC that belong to it.
struct sequence {
    std::size_t length = 0;
    char final = 0;   // of a CSI sequence; 0: another one
    int number = -1;  // its first parameter; -1: it has none
};

// An operating system command goes to BEL or ESC backslash.
std::size_t length_of_command(std::string_view rest)
{
    const auto end = rest.find_first_of("\a\x1b");
    if (end == std::string_view::npos) return rest.size();
    const bool by_string_end = rest[end] == escape && end + 1 < rest.size() && rest[end + 1] == '\\';
    return end + (by_string_end ? 2 : 1);
}

sequence sequence_at(std::string_view rest)
{
    constexpr int highest_number = 10'000;
    sequence read;
    if (rest.empty()) return read;
    if (rest.front() == ']') return {length_of_command(rest)};
    if (rest.front() != '[') return {utf8_prefix(rest, 1).size()};
    std::size_t at = 1;
    bool first = true;
    for (; at < rest.size() && rest[at] >= 0x20 && rest[at] < 0x40; ++at) {
        first = first && rest[at] >= '0' && rest[at] <= '9';
        if (first) read.number = std::min(highest_number, std::max(read.number, 0) * 10 + (rest[at] - '0'));
    }
    if (at < rest.size()) read.final = rest[at++];
    read.length = at;
    return read;
}

// A line of a terminal that is as wide as it needs to be; each cell has the bytes of one character.
class shown_line {
public:
    void write(std::string_view character)
    {
        if (column_ < cells_.size())
            cells_[column_] = character;
        else
            cells_.push_back(character);
        ++column_;
    }

    void go_to(std::size_t column)
    {
        // A gap is one blank, so that the line does not become longer than what was printed.
        if (column > cells_.size()) cells_.push_back(" ");
        column_ = std::min(column, cells_.size());
    }

    void back(std::size_t columns) { column_ -= std::min(column_, columns); }

    void obey(const sequence& order)
    {
        const auto count = static_cast<std::size_t>(std::max(order.number, 1));
        if (order.final == 'C') go_to(column_ + count);
        if (order.final == 'D') back(count);
        if (order.final == 'G') go_to(count - 1);
        if (order.final == 'K') erase(order.number);
    }

    void append_to(std::string& text) const
    {
        auto end = cells_.end();
        while (overwrites_ && end != cells_.begin() && *(end - 1) == " ") --end;
        for (auto cell = cells_.begin(); cell != end; ++cell) text.append(*cell);
    }

    void return_to_begin()
    {
        overwrites_ = true;  // blanks behind a shorter text have wiped the longer one out
        column_ = 0;
    }

private:
    void erase(int which)
    {
        if (which == 2) cells_.clear();
        if (which <= 0) cells_.resize(std::min(column_, cells_.size()));
        column_ = std::min(column_, cells_.size());
    }

    std::vector<std::string_view> cells_;
    std::size_t column_ = 0;
    bool overwrites_ = false;
};

void append_shown(std::string& shown, std::string_view line)
{
    shown_line cells;
    while (!line.empty()) {
        std::size_t used = 1;
        if (line.front() == '\r') {
            cells.return_to_begin();
        } else if (line.front() == '\b') {
            cells.back(1);
        } else if (line.front() == escape) {
            const auto order = sequence_at(line.substr(1));
            cells.obey(order);
            used += order.length;
        } else {
            used = std::max<std::size_t>(1, first_character(line).needs);
            cells.write(line.substr(0, used));
        }
        line.remove_prefix(std::min(used, line.size()));
    }
    cells.append_to(shown);
}

}  // namespace

std::string as_terminal_shows(std::string_view text)
{
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const auto feed = std::min(text.find('\n'), text.size());
        auto line = text.substr(0, feed);
        while (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_of(controls) == std::string_view::npos)
            shown.append(line);
        else
            append_shown(shown, line);
        if (feed < text.size()) shown += '\n';
        text.remove_prefix(std::min(feed + 1, text.size()));
    }
    return shown;
}

bool looks_binary(std::string_view text)
{
    constexpr std::size_t looked_at = 4096, least = 16, share = 10;
    constexpr std::string_view harmless = "\t\n\v\f\r\a\b\x1b", replacement = "\xEF\xBF\xBD";
    text = utf8_prefix(text, looked_at);
    std::size_t characters = 0, strange = 0;
    while (!text.empty()) {
        const auto size = std::max<std::size_t>(1, first_character(text).needs);
        const auto one = text.substr(0, size);
        const bool is_control = one.size() == 1 && static_cast<unsigned char>(one[0]) < 0x20 &&
                                harmless.find(one[0]) == std::string_view::npos;
        if (is_control || one == replacement) ++strange;
        ++characters;
        text.remove_prefix(std::min(size, text.size()));
    }
    return strange >= least && strange * share >= characters;
}

}  // namespace cmcp
