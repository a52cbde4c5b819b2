#pragma once

#include "load/cannot_begin.hpp"
#include "load/load_options.hpp"
#include "load/server_list.hpp"

#include <string>
#include <vector>

namespace cmcp::load {

/// Opens one session at each server and looks for the tools that the options call in its list, before thousands of
/// calls fail. Throws cannot_begin when no server is good. Where some are, the others count as gone for now; returns a
/// sentence for each of these.
std::vector<std::string> check_servers(const load_options& options, server_list& servers);

/// The three names out of `offered` that are written most alike, "a, b, c".
std::string name_nearest(const std::string& wanted, std::vector<std::string> offered);

}  // namespace cmcp::load
