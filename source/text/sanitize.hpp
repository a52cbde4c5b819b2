#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

/// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 when there is none.
std::size_t sequence_length(std::string_view text);

bool is_utf8(std::string_view text);

/// Every byte that is not part of well-formed UTF-8 becomes U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace cmcp::jsonrpc
