#pragma once

#include "http/router.hpp"
#include "jsonrpc/json.hpp"

#include <functional>

namespace cmcp {

/// GET /healthz: {"status", "version"}; with ?verbose what `details` gives as well.
void add_health_route(router& routes, std::function<json::object()> details);

}  // namespace cmcp
