#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp {

/// Text out of a terminal's output.
struct plain_piece {
    std::string text;      ///< valid UTF-8, lines end with \n
    std::size_t used = 0;  ///< bytes of the output that the text is of
};

/// The lines that a terminal's output leaves, without colours, titles and other control sequences. A line that is
/// written over (progress bars, what is typed and corrected) has its last content; where the output goes to another
/// place of the screen, a new line begins. Unless the output is `whole`, a character or sequence that is cut off at its
/// end is not used.
plain_piece plain_output(std::string_view output, bool whole);

}  // namespace cmcp
