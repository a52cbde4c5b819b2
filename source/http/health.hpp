#pragma once

#include "http/router.hpp"
#include "jsonrpc/json.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cmcp {

/// The reasons why the server cannot work, each a sentence with the remedy; none: the server is ready. Must not block.
using readiness_check = std::function<awaitable<std::vector<std::string>>()>;

/// GET and HEAD of
/// - /healthz, readiness: {"status": "ok", "version"}, or 503 with {"status": "unready", "version", "reasons"}; with
///   ?verbose also the members of `details`;
/// - /livez, liveness: 200 as long as requests are answered at all.
/// `ready` may be empty.
void add_health_routes(router& routes, readiness_check ready, std::function<json::object()> details);

/// GET /metrics: the figures of metrics::all() in the text format of Prometheus.
void add_metrics_route(router& routes);

}  // namespace cmcp
