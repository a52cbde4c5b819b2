#pragma once

#include <string>

namespace cmcp {

/// 128 random bits as lower-case hex. Throws std::runtime_error when there are none.
std::string hex_id();

}  // namespace cmcp
