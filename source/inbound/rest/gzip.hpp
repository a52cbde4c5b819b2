#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The text in the format of RFC 1952. For texts of this server alone: a length tells about what is compressed
/// together.
std::string gzipped(std::string_view text);

}  // namespace cmcp
