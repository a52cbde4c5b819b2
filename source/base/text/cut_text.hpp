#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp {

/// A long text of which the beginning and the end are shown, with a line in brackets between them.
struct cut_text {
    std::string head;
    std::string tail;
    std::uint64_t left_out = 0;  ///< bytes; 0: the text is whole, and all of it is the head
    std::string where;           ///< where the whole text is; empty: none
};

std::string written(const cut_text& text);

/// The parts of a text that written() made; any other text is whole.
cut_text read_cut_text(std::string_view text);

/// The text without its middle, so that `most` bytes and the line in brackets are left. Whole characters stay. What
/// had been left out before is counted, too.
cut_text without_middle(std::string_view text, std::size_t most);

}  // namespace cmcp
