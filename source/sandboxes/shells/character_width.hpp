#pragma once

#include <cstddef>

namespace cmcp {

/// The columns of a character on a terminal: 0 where it joins the one before, 2 for East Asian characters and pictures.
std::size_t character_width(char32_t character);

}  // namespace cmcp
