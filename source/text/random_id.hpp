#pragma once

#include <string>

namespace cmcp {

/// 160 bits from the kernel's generator as lower-case hex. Throws std::runtime_error when there are none.
std::string random_id();

}  // namespace cmcp
