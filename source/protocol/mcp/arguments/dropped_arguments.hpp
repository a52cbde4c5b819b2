#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp {

/// A sentence where arguments that the schema does not name would have changed what the tool acts on, or how much it
/// changes: without them it would do another thing than its caller means. Empty where there are none.
std::string dropped_arguments(const json::object& arguments, const json::object& schema);

}  // namespace cmcp
