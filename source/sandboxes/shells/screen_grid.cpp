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
    used_ = std::min(used_, rows);
}

// Half of a wide character is none.
void screen_grid::part_wide(std::u32string& of, std::size_t column)
{
    if (column == 0 || column >= of.size() || of[column] != 0) return;
    of[column - 1] = blank;
    of[column] = blank;
}

void screen_grid::put(std::size_t row, std::size_t column, char32_t character, std::size_t width, std::size_t count)
{
    std::u32string& text = line(row);
    used_ = std::max(used_, row + 1);
    const std::size_t end = std::min(column + width * count, columns_);
    part_wide(text, column);
    part_wide(text, end);
    if (text.size() < end) text.resize(end, blank);
    std::fill(text.begin() + static_cast<difference>(column), text.begin() + static_cast<difference>(end),
              width == 1 ? character : 0);
    if (width == 1) return;
    for (std::size_t at = column; at < end; at += width) text[at] = character;
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

void screen_grid::clear_rows(std::size_t from, std::size_t to)
{
    const std::size_t end = std::min(to, used_);
    for (std::size_t row = from; row < end; ++row) line(row).clear();
    if (to >= used_) used_ = std::min(used_, from);
}

// Rows that are empty need not move.
void screen_grid::scroll_up(std::size_t top, std::size_t bottom, std::size_t count)
{
    if (top >= used_) return;
    const std::size_t end = std::min(bottom + 1, used_);
    count = std::min(count, end - top);
    const auto first = order_.begin() + static_cast<difference>(top);
    std::rotate(first, first + static_cast<difference>(count), order_.begin() + static_cast<difference>(end));
    clear_rows(end - count, end);
}

void screen_grid::scroll_down(std::size_t top, std::size_t bottom, std::size_t count)
{
    if (top >= used_) return;
    count = std::min(count, bottom - top + 1);
    const std::size_t end = std::min(bottom + 1, used_ + count);
    const auto first = order_.begin() + static_cast<difference>(top);
    const auto last = order_.begin() + static_cast<difference>(end);
    std::rotate(first, last - static_cast<difference>(std::min(count, end - top)), last);
    used_ = std::max(used_, end);
    for (std::size_t row = top; row != std::min(top + count, end); ++row) line(row).clear();
}

}  // namespace cmcp
