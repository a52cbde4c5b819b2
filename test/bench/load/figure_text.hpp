#pragma once

#include <cstdint>
#include <string>

namespace cmcp::load {

std::string fixed(double value, int digits);
std::string duration_text(std::int64_t nanoseconds);  ///< "340 us", "12.31 ms", "1.20 s"

}  // namespace cmcp::load
