#include "shells/terminal_screen.hpp"

#include "shells/character_text.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace cmcp {

namespace {

struct range {
    char32_t first, last;
};

// UAX #11, the blocks as a whole; unassigned characters of a block are as wide as its others.
constexpr range wide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2e80, 0x303e},
                          {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
                          {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                          {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x17000, 0x18cff}, {0x1b000, 0x1b2ff},
                          {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr range joining[] = {{0x0300, 0x036f}, {0x0483, 0x0489},  {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
                             {0x0e34, 0x0e3a}, {0x1ab0, 0x1aff},  {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
                             {0x20d0, 0x20ff}, {0x302a, 0x302d},  {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
                             {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};

template <std::size_t N>
bool is_in(const range (&ranges)[N], char32_t character)
{
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const range& each) { return character >= each.first && character <= each.last; });
}

// The columns of a character on a terminal: 0 where it joins the one before, 2 for East Asian characters and pictures.
std::size_t character_width(char32_t character)
{
    if (character < joining[0].first) return 1;
    if (is_in(joining, character)) return 0;
    return is_in(wide, character) ? 2 : 1;
}

constexpr std::size_t tab_width = 8;

// The characters that ` to ~ stand for while lines are drawn (DEC Special Graphics).
constexpr char32_t drawn[] = U"◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";

}  // namespace

terminal_screen::terminal_screen(std::size_t columns, std::size_t rows)
    : grid_(columns, rows), other_(columns, rows), bottom_(rows - 1)
{
}

void terminal_screen::resize(std::size_t columns, std::size_t rows)
{
    // The prompt at the bottom of a screen that becomes lower stays on it.
    if (now_.row >= rows) grid_.scroll_up(0, last_row(), now_.row - rows + 1);
    grid_.resize(columns, rows);
    other_.resize(columns, rows);
    top_ = 0;
    bottom_ = rows - 1;
    go_to(now_.row, now_.column);
    kept_ = {std::min(kept_.row, bottom_), std::min(kept_.column, columns - 1), kept_.graphics};
}

std::size_t terminal_screen::cursor_column() const { return std::min(now_.column, columns() - 1); }

std::string terminal_screen::text() const
{
    std::string all;
    for (std::size_t row = 0; row != grid_.rows(); ++row) {
        const std::u32string& line = grid_.line(row);
        const auto last = line.find_last_not_of(U' ');
        for (const char32_t each : line.substr(0, last == std::u32string::npos ? 0 : last + 1))
            if (each != 0) append_character(all, each);
        all += '\n';
    }
    return all;
}

void terminal_screen::write(std::string_view bytes)
{
    const std::string all = std::exchange(rest_, {}).append(bytes);
    std::string_view rest = all;
    while (!rest.empty()) {
        const std::size_t taken = step(rest);
        if (taken == 0) break;
        rest.remove_prefix(taken);
    }
    rest_ = rest;
}

// The bytes that were taken; 0: what they begin is cut off.
std::size_t terminal_screen::step(std::string_view rest)
{
    const char c = rest.front();
    if (c == terminal_escape) {
        const std::size_t length = sequence_length(rest.substr(0, longest_sequence));
        if (length == 0 && rest.size() < longest_sequence) return 0;
        if (length != 0) escape(rest.substr(0, length));
        return std::max<std::size_t>(length, 1);
    }
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') return control(c), 1;
    const utf8_start character = first_character(rest);
    if (character.fits != 0 && character.fits == character.needs) {
        put(decode_character(rest));
        return character.fits;
    }
    if (is_cut_utf8(rest)) return 0;
    put(U'\ufffd');
    return 1;
}

void terminal_screen::control(char c)
{
    switch (c) {
        case '\r':
            now_.column = 0;
            return;
        case '\n':
        case '\v':
        case '\f':
            return line_feed();
        case '\b':
            now_.column = cursor_column() - (cursor_column() != 0 ? 1 : 0);
            return;
        case '\t':
            return go_to(now_.row, (now_.column / tab_width + 1) * tab_width);
        case '\x0e':
        case '\x0f':
            now_.graphics = c == '\x0e';
            return;
        default:
            return;
    }
}

void terminal_screen::escape(std::string_view sequence)
{
    switch (sequence[1]) {
        case '[':
            return obey(control_sequence(sequence));
        case '(':
            now_.graphics = sequence.back() == '0';
            return;
        case '7':
            kept_ = now_;
            return;
        case '8':
            now_ = kept_;
            return;
        case 'D':
            return line_feed();
        case 'E':
            now_.column = 0;
            return line_feed();
        case 'M':
            return reverse_line_feed();
        case 'c':
            return reset();
        default:
            return;
    }
}

void terminal_screen::obey(const control_sequence& what)
{
    if (what.final == 'h' || what.final == 'l') return set_modes(what, what.final == 'h');
    if (what.mark != 0) return;
    move(what);
    edit(what);
}

void terminal_screen::move(const control_sequence& what)
{
    const std::size_t count = what.count();
    const std::size_t row = now_.row, column = cursor_column();
    const auto up = [&](std::size_t to_column) {
        const std::size_t first = row >= top_ ? top_ : 0;
        go_to(row - std::min(count, row - first), to_column);
    };
    const auto down = [&](std::size_t to_column) {
        const std::size_t last = row <= bottom_ ? bottom_ : last_row();
        go_to(row + std::min(count, last - row), to_column);
    };
    switch (what.final) {
        case 'A':
            return up(column);
        case 'B':
        case 'e':
            return down(column);
        case 'C':
        case 'a':
            return go_to(row, column + std::min(count, columns()));
        case 'D':
            return go_to(row, column - std::min(count, column));
        case 'E':
            return down(0);
        case 'F':
            return up(0);
        case 'G':
        case '`':
            return go_to(row, count - 1);
        case 'd':
            return go_to(count - 1, column);
        case 'H':
        case 'f':
            return go_to(count - 1, std::max<std::size_t>(1, what.number(1, 1)) - 1);
        case 'I':
            return go_to(row, (column / tab_width + std::min(count, columns())) * tab_width);
        case 'Z':
            return go_to(row, (column - std::min(column, (count - 1) * tab_width)) / tab_width * tab_width);
        case 's':
            kept_ = now_;
            return;
        case 'u':
            now_ = kept_;
            return;
        default:
            return;
    }
}

void terminal_screen::edit(const control_sequence& what)
{
    const std::size_t count = what.count();
    const std::size_t column = cursor_column();
    switch (what.final) {
        case 'J':
            return erase_screen(what.number(0, 0));
        case 'K':
            return erase_row(what.number(0, 0));
        case 'X':
            return grid_.erase(now_.row, column, std::min(columns(), column + std::min(count, columns())));
        case '@':
            return grid_.insert(now_.row, column, std::min(count, columns()));
        case 'P':
            return grid_.remove(now_.row, column, std::min(count, columns()));
        case 'L':
            if (in_region()) grid_.scroll_down(now_.row, bottom_, count);
            return;
        case 'M':
            if (in_region()) grid_.scroll_up(now_.row, bottom_, count);
            return;
        case 'S':
            return grid_.scroll_up(top_, bottom_, count);
        case 'T':
            return grid_.scroll_down(top_, bottom_, count);
        case 'b':
            return put(latest_, std::min(count, columns()));
        case 'r':
            return set_region(count, what.number(1, 0));
        default:
            return;
    }
}

void terminal_screen::set_modes(const control_sequence& what, bool on)
{
    for (const auto& each : what.numbers) {
        const std::size_t mode = each.value_or(0);
        if (what.mark == 0 && mode == 4) inserts_ = on;
        if (what.mark != '?') continue;
        if (mode == 7) wraps_ = on;
        if (mode == 1048 || mode == 1049) (on ? kept_ : now_) = on ? now_ : kept_;
        if (mode == 47 || mode == 1047 || mode == 1049) use_other(on);
    }
}

// The screen of a full-screen program is empty when it comes.
void terminal_screen::use_other(bool other)
{
    if (shows_other_ == other) return;
    shows_other_ = other;
    std::swap(grid_, other_);
    if (other) grid_.clear_rows(0, grid_.rows());
}

void terminal_screen::put(char32_t character) { put(character, 1); }

// The same character several times costs about as much as one, because a sequence of a few bytes asks for it.
void terminal_screen::put(char32_t character, std::size_t count)
{
    if (now_.graphics && character >= U'`' && character <= U'~') character = drawn[character - U'`'];
    const std::size_t width = std::min(character_width(character), columns());
    if (width == 0) return;
    latest_ = character;
    while (count != 0) {
        const bool is_full = now_.column + width > columns();
        if (is_full && wraps_) {
            now_.column = 0;
            line_feed();
        } else if (is_full) {
            now_.column = columns() - width;
            count = 1;  // each further one would be written over the one before
        }
        const std::size_t here = std::min(count, (columns() - now_.column) / width);
        if (inserts_) grid_.insert(now_.row, now_.column, here * width);
        grid_.put(now_.row, now_.column, character, width, here);
        now_.column += here * width;
        count -= here;
    }
}

void terminal_screen::line_feed()
{
    if (now_.row == bottom_) return grid_.scroll_up(top_, bottom_, 1);
    if (now_.row < last_row()) ++now_.row;
}

void terminal_screen::reverse_line_feed()
{
    if (now_.row == top_) return grid_.scroll_down(top_, bottom_, 1);
    if (now_.row > 0) --now_.row;
}

void terminal_screen::erase_screen(std::size_t kind)
{
    if (kind == 3) return;  // only what has scrolled away
    if (kind != 2) erase_row(kind);
    const std::size_t first = kind == 0 ? now_.row + 1 : 0;
    const std::size_t end = kind == 1 ? now_.row : grid_.rows();
    grid_.clear_rows(first, end);
}

void terminal_screen::erase_row(std::size_t kind)
{
    const std::size_t column = cursor_column();
    grid_.erase(now_.row, kind == 0 ? column : 0, kind == 1 ? column + 1 : columns());
}

void terminal_screen::set_region(std::size_t top, std::size_t bottom)
{
    if (bottom == 0 || bottom > grid_.rows()) bottom = grid_.rows();
    if (top >= bottom) return;
    top_ = top - 1;
    bottom_ = bottom - 1;
    go_to(0, 0);
}

void terminal_screen::go_to(std::size_t row, std::size_t column)
{
    now_.row = std::min(row, last_row());
    now_.column = std::min(column, columns() - 1);
}

void terminal_screen::reset()
{
    for (auto* each : {&grid_, &other_}) each->clear_rows(0, each->rows());
    now_ = kept_ = {};
    top_ = 0;
    bottom_ = last_row();
    latest_ = U' ';
    shows_other_ = inserts_ = false;
    wraps_ = true;
}

}  // namespace cmcp
