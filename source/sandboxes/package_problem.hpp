#pragma once

#include "egress/egress_ticket.hpp"
#include "runs/runner.hpp"
#include "sandboxes/package_origin.hpp"

#include <deque>
#include <string>

namespace cmcp {

/// Why an installation failed and what to do, from what pip or npm printed and what the guard refused; empty: it
/// worked.
std::string package_problem(const run_outcome& run, package_kind kind, const std::deque<egress_refusal>& refusals,
                            const std::string& index);

}  // namespace cmcp
