#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cmcp {

/// From the kernel's generator. Throws std::runtime_error when it gives none.
void fill_random(std::span<unsigned char> bytes);

/// So many random bytes as lower-case hex.
std::string random_id(std::size_t bytes = 20);

}  // namespace cmcp
