#include "rest/rest_routes.hpp"

namespace cmcp {

void add_preview_routes(router& routes, preview_gateway& shown)
{
    routes.add({.methods = {},
                .path = "/preview/*",
                .serve = [&shown](exchange& x) { return shown.serve(x); },
                .access = route_access::open,
                .body = route_body::streamed,
                .host = [&shown](std::string_view host) { return shown.has_origin(host); },
                .handle = [&shown](const http_request& by) { return shown.handle_of(by); },
                .relays = true});
}

}  // namespace cmcp
