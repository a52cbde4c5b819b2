#pragma once

#include "load/cannot_begin.hpp"
#include "load/load_options.hpp"
#include "load/wire.hpp"

#include <string>
#include <vector>

namespace cmcp::load {

/// Opens one session and looks for the tools that the options call in the server's list, before thousands of calls
/// fail. Throws cannot_begin.
void check_server(const load_options& options, route& ways);

/// The three names out of `offered` that are written most alike, "a, b, c".
std::string name_nearest(const std::string& wanted, std::vector<std::string> offered);

}  // namespace cmcp::load
