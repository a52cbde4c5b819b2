#include "shells/screen_grid.hpp"

#include <algorithm>
#include <numeric>

namespace cmcp {
namespace {

using difference = std::ptrdiff_t;

constexpr char32_t blank = U' ';

}  // namespace

screen_grid::screen_grid(std::size_t columns, std::size_t rows) : columns_(columns), lines_(rows), order_(rows)
{
    std::iota(order_.begin(), order_.end(), std::size_t{0});
}

// As xterm does: the upper rows stay.
void screen_grid::resize(std::size_t columns, std::size_t rows)
{
    std::vector<std::u32string> kept(rows);
    for (std::size_t row = 0; row != std::min(rows, order_.size()); ++row) {
        kept[row] = std::move(line(row));
        if (kept[row].size() > columns) kept[row].resize(columns);
    }
    columns_ = columns;
    lines_ = std::move(kept);
    order_.resize(rows);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
}

// Half of a wide character is none.
void screen_grid::part_wide(std::u32string& of, std::size_t column)
{
    if (column == 0 || column >= of.size() || of[column] != 0) return;
    of[column - 1] = blank;
    of[column] = blank;
}

void screen_grid::put(std::size_t row, std::size_t column, char32_t character, std::size_t width)
{
    std::u32string& text = line(row);
    const std::size_t end = std::min(column + width, columns_);
    part_wide(text, column);
    part_wide(text, end);
    if (text.size() < end) text.resize(end, blank);
    text[column] = character;
    for (std::size_t behind = column + 1; behind < end; ++behind) text[behind] = 0;
}

void screen_grid::insert(std::size_t row, std::size_t column, std::size_t count)
{
    std::u32string& text = line(row);
    if (column >= text.size()) return;
    part_wide(text, column);
    text.insert(column, std::min(count, columns_ - column), blank);
    if (text.size() > columns_) text.resize(columns_);
}

void screen_grid::remove(std::size_t row, std::size_t column, std::size_t count)
{
    std::u32string& text = line(row);
    if (column >= text.size()) return;
    part_wide(text, column);
    part_wide(text, std::min(column + count, columns_));
    text.erase(column, count);
}

void screen_grid::erase(std::size_t row, std::size_t from, std::size_t to)
{
    std::u32string& text = line(row);
    part_wide(text, from);
    part_wide(text, to);
    if (to >= text.size()) return text.resize(std::min(from, text.size()));
    std::fill(text.begin() + static_cast<difference>(from), text.begin() + static_cast<difference>(to), blank);
}

void screen_grid::scroll_up(std::size_t top, std::size_t bottom, std::size_t count)
{
    count = std::min(count, bottom - top + 1);
    const auto first = order_.begin() + static_cast<difference>(top);
    const auto end = order_.begin() + static_cast<difference>(bottom) + 1;
    std::rotate(first, first + static_cast<difference>(count), end);
    for (std::size_t row = bottom + 1 - count; row <= bottom; ++row) clear(row);
}

void screen_grid::scroll_down(std::size_t top, std::size_t bottom, std::size_t count)
{
    count = std::min(count, bottom - top + 1);
    const auto first = order_.begin() + static_cast<difference>(top);
    const auto end = order_.begin() + static_cast<difference>(bottom) + 1;
    std::rotate(first, end - static_cast<difference>(count), end);
    for (std::size_t row = top; row != top + count; ++row) clear(row);
}

}  // namespace cmcp
