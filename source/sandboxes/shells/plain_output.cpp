#include "shells/plain_output.hpp"

#include "shells/character_text.hpp"
#include "shells/control_sequence.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace cmcp {
namespace {

constexpr std::size_t most_columns = 4096;
constexpr std::size_t most_blanks = 256 * 1024;  // that the cursor leaves behind it, as few bytes ask for many

// A line of the screen, in which characters are written over others.
class screen_line {
public:
    void put(char32_t character)
    {
        if (at_ >= most_columns) end();
        if (at_ > cells_.size()) at_ = cells_.size() + blanks(at_ - cells_.size());
        if (at_ >= cells_.size()) cells_.resize(at_ + 1, blank);
        cells_[at_++] = character;
    }
    void go_to(std::size_t column) { at_ = std::min(column, most_columns - 1); }
    void go_by(std::ptrdiff_t columns)
    {
        const auto at = static_cast<std::ptrdiff_t>(at_) + columns;
        go_to(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at)));
    }
    void tabulate() { go_to((at_ / 8 + 1) * 8); }
    void erase(std::size_t kind)
    {
        if (kind == 0) cells_.resize(std::min(at_, cells_.size()));
        if (kind == 1) std::fill_n(cells_.begin(), std::min(at_ + 1, cells_.size()), blank);
        if (kind == 2) cells_.clear();
    }
    void remove(std::size_t count)
    {
        if (at_ < cells_.size()) cells_.erase(at_, count);
    }
    void insert(std::size_t count)
    {
        if (at_ >= cells_.size()) return;
        cells_.insert(at_, blanks(std::min(count, most_columns - at_)), blank);
        if (cells_.size() > most_columns) cells_.resize(most_columns);
    }

    void end()
    {
        append();
        text_ += '\n';
        cells_.clear();
        at_ = 0;
    }
    void leave()  // the screen goes on elsewhere
    {
        if (!cells_.empty()) end();
        at_ = 0;
    }
    std::string take()
    {
        append();
        return std::move(text_);
    }

private:
    static constexpr char32_t blank = U' ';

    std::size_t blanks(std::size_t wanted)
    {
        const auto count = std::min(wanted, most_blanks - blanks_);
        blanks_ += count;
        return count;
    }
    void append()
    {
        for (const char32_t cell : cells_) append_character(text_, cell);
    }

    std::u32string cells_;
    std::size_t at_ = 0;
    std::size_t blanks_ = 0;
    std::string text_;
};

void obey(std::string_view sequence, screen_line& line)
{
    if (sequence.size() < 3 || sequence[1] != '[') return;
    const control_sequence what(sequence);
    const auto count = std::min(what.number(0, 1), most_columns);
    switch (what.final) {
        case 'C':
            return line.go_by(static_cast<std::ptrdiff_t>(count));
        case 'D':
            return line.go_by(-static_cast<std::ptrdiff_t>(count));
        case 'G':
            return line.go_to(count == 0 ? 0 : count - 1);
        case 'K':
            return line.erase(what.number(0, 0));
        case 'P':
            return line.remove(count);
        case '@':
            return line.insert(count);
        case 'A':
        case 'B':
        case 'E':
        case 'F':
        case 'H':
        case 'J':
        case 'd':
        case 'f':
            return line.leave();
        default:
            return;
    }
}

// The bytes that a control character or a character of text takes; nothing: it is cut off.
std::optional<std::size_t> step(std::string_view rest, bool whole, screen_line& line)
{
    const char c = rest.front();
    if (c == terminal_escape) {
        const std::size_t length = sequence_length(rest.substr(0, longest_sequence));
        if (length == 0 && !whole && rest.size() < longest_sequence) return std::nullopt;
        if (length != 0) obey(rest.substr(0, length), line);
        return std::max<std::size_t>(length, 1);
    }
    if (c == '\r') {
        if (rest.size() == 1 && !whole) return std::nullopt;
        line.go_to(0);
    } else if (c == '\n') {
        line.end();
    } else if (c == '\b') {
        line.go_by(-1);
    } else if (c == '\t') {
        line.tabulate();
    }
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return 1;
    const utf8_start character = first_character(rest);
    if (character.fits != 0 && character.fits == character.needs) {
        line.put(decode_character(rest));
        return character.fits;
    }
    if (!whole && is_cut_utf8(rest)) return std::nullopt;
    line.put(U'\ufffd');
    return 1;
}

}  // namespace

plain_piece plain_output(std::string_view output, bool whole)
{
    screen_line line;
    plain_piece piece;
    while (piece.used < output.size()) {
        const auto taken = step(output.substr(piece.used), whole, line);
        if (!taken) break;
        piece.used += *taken;
    }
    piece.text = line.take();
    return piece;
}

}  // namespace cmcp
