#pragma once

#include "async/sliced_work.hpp"
#include "shells/terminal_screen.hpp"
#include "wire/run_request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A screen at one moment: a line for each row, and the cursor's place, from 1 on.
struct shell_picture {
    std::string text;
    std::size_t cursor_row = 1, cursor_column = 1;
};

/// The terminal had another size from a place in the output on.
struct size_change {
    std::uint64_t number;  ///< counts the changes of a terminal, from 1 on
    std::uint64_t place;
    sandbox::terminal_size size;
};

/// The screen of a shell, drawn from its output when somebody looks, by whichever thread does. From then on it follows
/// all of the output.
class shell_screen {
public:
    explicit shell_screen(sandbox::terminal_size size) : screen_(size.columns, size.rows) {}

    /// Draws `bytes`, the output from `place` on; those that were drawn before are skipped, and so are changes of the
    /// size that were made before.
    static sliced_work<shell_picture> draw(std::shared_ptr<shell_screen> screen, std::uint64_t place, std::string bytes,
                                           std::vector<size_change> sizes);

private:
    bool follow(std::uint64_t place, std::string_view bytes, const std::vector<size_change>& sizes, slice_end until);
    bool follow(std::uint64_t place, std::string_view bytes, std::uint64_t end, slice_end until);

    std::mutex one_at_a_time_;
    terminal_screen screen_;
    std::uint64_t drawn_ = 0;  // the end of what was drawn
    std::uint64_t sized_ = 0;  // the latest change of the size that was made
};

}  // namespace cmcp
