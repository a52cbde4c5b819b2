#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp::jsonrpc {

/// The value as JSON text that every strict parser reads: strings are well-formed UTF-8 (what is not becomes U+FFFD),
/// numbers are the shortest decimal that reads back the same (41.6, not 4.16E1), those that are not finite become null.
std::string write_json(const json::value& value);
std::string write_json(const json::object& object);
std::string write_json(std::string_view text);  ///< as a JSON string, quoted

}  // namespace cmcp::jsonrpc
