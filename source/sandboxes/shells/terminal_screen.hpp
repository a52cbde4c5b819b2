#pragma once

#include "shells/control_sequence.hpp"
#include "shells/screen_grid.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// The screen that a program draws with the control sequences of xterm-256color (terminfo(5)), without colours. What it
/// holds is bounded by columns × rows, and the work for a byte by copying a row, or the places of all rows.
class terminal_screen {
public:
    terminal_screen(std::size_t columns, std::size_t rows);

    void resize(std::size_t columns, std::size_t rows);
    void write(std::string_view bytes);  ///< the next piece of the output, which may be cut anywhere

    std::string text() const;  ///< a line for each row, without the blanks at its end
    std::size_t cursor_row() const { return now_.row; }
    std::size_t cursor_column() const;  ///< both from 0 on

private:
    struct place {
        std::size_t row = 0, column = 0;  ///< column == columns(): the row is full, and the next character wraps
        bool graphics = false;            ///< lines are drawn with letters
    };

    std::size_t step(std::string_view rest);
    void control(char c);
    void escape(std::string_view sequence);
    void obey(const control_sequence& what);
    void move(const control_sequence& what);
    void edit(const control_sequence& what);
    void set_modes(const control_sequence& what, bool on);
    void use_other(bool other);
    void put(char32_t character);
    void put(char32_t character, std::size_t count);
    void line_feed();
    void reverse_line_feed();
    void erase_screen(std::size_t kind);
    void erase_row(std::size_t kind);
    void set_region(std::size_t top, std::size_t bottom);
    void go_to(std::size_t row, std::size_t column);
    void reset();

    std::size_t columns() const { return grid_.columns(); }
    std::size_t last_row() const { return grid_.rows() - 1; }
    bool in_region() const { return now_.row >= top_ && now_.row <= bottom_; }

    screen_grid grid_;
    screen_grid other_;  // of the full-screen program, while it is not shown, or what it hides
    place now_, kept_;
    std::size_t top_ = 0, bottom_;
    std::string rest_;  // of a sequence or character that is cut off
    char32_t latest_ = U' ';
    bool shows_other_ = false;
    bool wraps_ = true;
    bool inserts_ = false;
};

}  // namespace cmcp
