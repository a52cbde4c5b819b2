#pragma once

#include "http/router.hpp"

namespace cmcp {

/// GET /metrics: the figures of metrics::all() in the text format of Prometheus.
void add_metrics_route(router& routes);

}  // namespace cmcp
