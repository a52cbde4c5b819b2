#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp {

/// The result object as a model reads it: what was printed as a terminal shows it, then what else there is, short facts
/// in one line, rows of lists in one line each. Times, dates, sizes, links and what follows from the rest are left out.
std::string result_text(const json::object& structured);

/// The same, but empty where the object has nothing to say.
std::string spoken_part(const json::object& structured);

}  // namespace cmcp
