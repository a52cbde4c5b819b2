#pragma once

#include "shells/terminal_screen.hpp"
#include "wire/run_request.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cmcp {

/// A screen at one moment: a line for each row, and the cursor's place, from 1 on.
struct shell_picture {
    std::string text;
    std::size_t cursor_row = 1, cursor_column = 1;
};

/// The terminal had another size from a place in the output on.
struct size_change {
    std::uint64_t place;
    sandbox::terminal_size size;
};

/// The screen of a shell, drawn from its output when somebody looks, by whichever thread does. From then on it follows
/// all of the output.
class shell_screen {
public:
    explicit shell_screen(sandbox::terminal_size size) : screen_(size.columns, size.rows) {}

    /// `bytes` are the output from `place` on; those that were drawn before are skipped. Blocks.
    shell_picture draw(std::uint64_t place, std::string_view bytes, const std::vector<size_change>& sizes);

private:
    void follow(std::uint64_t place, std::string_view bytes, std::uint64_t until);

    std::mutex one_at_a_time_;
    terminal_screen screen_;
    std::uint64_t drawn_ = 0;  // the end of what was drawn
};

}  // namespace cmcp
