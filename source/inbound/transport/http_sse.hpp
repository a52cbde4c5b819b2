#pragma once

#include "http/router.hpp"
#include "mcp/server_core.hpp"
#include "transport/session_store.hpp"

namespace cmcp {

struct settings;

/// GET /sse and POST /messages: the transport of 2024-11-05. The stream is the session: when it closes, the requests
/// end, because nobody could be told their results.
class http_sse {
public:
    http_sse(server_core& core, const settings& config, session_store& sessions)
        : core_(core), config_(config), sessions_(sessions)
    {
    }

    void add_routes(router& routes);

private:
    awaitable<> open(exchange& x);
    std::shared_ptr<http_session> make_session(const http_request& request, http_reply& refusal);
    awaitable<> hold(exchange& x, std::shared_ptr<http_session> opened);
    awaitable<> post(exchange& x);

    server_core& core_;
    const settings& config_;
    session_store& sessions_;
};

}  // namespace cmcp
