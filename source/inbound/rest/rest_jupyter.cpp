#include "rest/rest_routes.hpp"

namespace cmcp {

void add_jupyter_routes(router& routes, jupyter_gateway& kernels, websocket_register& sockets)
{
    for (const auto* path : {"/api", "/api/*"})
        routes.add({.methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
                    .path = path,
                    .serve = [&kernels, &sockets](exchange& x) { return kernels.serve(x, sockets); },
                    .needs = scope_set(scope::run) | scope::files,  // notebooks run, and are saved
                    .body = route_body::any,
                    .audit = route_audit::calls,
                    .counts = route_counts::changes,
                    .jupyter = true});
}

}  // namespace cmcp
