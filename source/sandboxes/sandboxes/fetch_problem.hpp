#pragma once

#include "egress/egress_ticket.hpp"

#include <deque>
#include <string>

namespace cmcp {

/// Why an image was not fetched and what to do, from what skopeo or umoci said and what the guard refused.
std::string fetch_problem(const std::string& name, const std::string& said, const std::deque<egress_refusal>& refusals);

}  // namespace cmcp
