#pragma once

#include "http/health.hpp"
#include "http/router.hpp"
#include "jsonrpc/json.hpp"

#include <functional>
#include <string>

namespace cmcp {

struct settings;

/// GET / for browsers: a description of the server, its state, and how to connect a client to the browser's address.
/// `ready` and `details` as for /healthz; the latter are shown where no token is asked for. `config` must outlive the
/// routes.
void add_landing_page(router& routes, const settings& config, readiness_check ready,
                      std::function<json::object()> details);

}  // namespace cmcp
