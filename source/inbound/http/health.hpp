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

/// The parts of /metrics that others bring.
struct metrics_sources {
    std::function<awaitable<>()> update{};                     ///< brings figures up to date; may be empty
    std::function<bool(const http_request&)> sees_principals;  ///< whether the caller may see figures of all principals
};

/// GET /metrics: the figures of metrics::all() in the text format of Prometheus.
void add_metrics_route(router& routes, metrics_sources from);

}  // namespace cmcp
