#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cmcp {

/// The characters of a terminal's screen, in rows that scroll. A row keeps what it holds, so an empty one costs
/// nothing; a wide character is followed by a cell of 0. Places begin at 0 and are those of the screen: callers check
/// them.
class screen_grid {
public:
    screen_grid(std::size_t columns, std::size_t rows);

    std::size_t columns() const { return columns_; }
    std::size_t rows() const { return order_.size(); }
    void resize(std::size_t columns, std::size_t rows);

    void put(std::size_t row, std::size_t column, char32_t character, std::size_t width, std::size_t count = 1);
    void insert(std::size_t row, std::size_t column, std::size_t count);  ///< blanks; what is behind moves on
    void remove(std::size_t row, std::size_t column, std::size_t count);
    void erase(std::size_t row, std::size_t from, std::size_t to);  ///< columns up to `to`, which is left out
    void clear_rows(std::size_t from, std::size_t to);              ///< up to `to`, which is left out

    /// Moves the rows from `top` to `bottom`, which is included; those that come are empty.
    void scroll_up(std::size_t top, std::size_t bottom, std::size_t count);
    void scroll_down(std::size_t top, std::size_t bottom, std::size_t count);

    std::u32string& line(std::size_t row) { return lines_[order_[row]]; }
    const std::u32string& line(std::size_t row) const { return lines_[order_[row]]; }

private:
    void part_wide(std::u32string& of, std::size_t column);

    std::size_t columns_;
    std::vector<std::u32string> lines_;
    std::vector<std::size_t> order_;  // of the lines on the screen
    std::size_t used_ = 0;            // rows from here on are empty
};

}  // namespace cmcp
