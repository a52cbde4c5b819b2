#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// Puts a finding of the schema library into a sentence that a model can act on: "argument `timeout` must be >= 0".
/// `context` is the library's path ("<root>", "[name]", "[3]"), `finding` its own words, used where nothing better
/// is known.
std::string schema_sentence(const json::object& schema, const json::object& arguments,
                            const std::vector<std::string>& context, const std::string& finding);

}  // namespace cmcp
