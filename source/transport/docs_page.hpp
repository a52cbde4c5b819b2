#pragma once

#include "http/exchange.hpp"

namespace cmcp {

/// GET /docs: one page that lists, explains and tries every tool by what /openapi.json says, and shows output as it
/// comes. It asks nothing of any other host.
awaitable<> serve_docs(exchange& x);

}  // namespace cmcp
