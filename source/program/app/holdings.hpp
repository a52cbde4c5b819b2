#pragma once

#include "jsonrpc/json.hpp"

#include <set>
#include <string>
#include <vector>

namespace cmcp {

struct managers;

/// The belongings of the principal at this server, as holdings_source::of says it.
json::object holdings_of(const managers& all, const std::string& principal);

/// The principals that have sandboxes, jobs, tasks or a workspace here; and those of whom lists of tools show any.
std::vector<std::string> holders(const managers& all);
std::set<std::string> listed_owners(const managers& all);

/// The work and the room of this server: `runs`, `max_runs`, `runs_waiting`, `jobs`, `sandboxes`,
/// `memory_available` and `disk_available` in bytes, and its `version`.
json::object load_of(const managers& all, bool drains);

}  // namespace cmcp
