#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <vector>

namespace cmcp {

struct managers;

/// The belongings of the principal at this server, as holdings_source::of says it.
json::object holdings_of(const managers& all, const std::string& principal);

/// The principals that have sandboxes, jobs or tasks here.
std::vector<std::string> holders(const managers& all);

/// The work and the room of this server: `runs`, `max_runs`, `runs_waiting`, `jobs`, `sandboxes`,
/// `memory_available` and `disk_available` in bytes, and its `version`.
json::object load_of(const managers& all, bool drains);

}  // namespace cmcp
