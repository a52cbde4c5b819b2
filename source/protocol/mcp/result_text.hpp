#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp {

/// The result object as a model reads it: what was printed as it was printed, then what else there is, short facts in
/// one line. Times, sizes and what follows from the rest are left out.
std::string result_text(const json::object& structured);

}  // namespace cmcp
