#pragma once

#include "config/settings.hpp"
#include "http/router.hpp"
#include "mcp/server_core.hpp"
#include "transport/accepted_types.hpp"
#include "transport/session_store.hpp"
#include "transport/stateless_http.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

/// POST, GET and DELETE on /mcp: the revisions 2025-03-26 to 2025-11-25 with sessions, and 2026-07-28 by stateless_http
/// when the body claims it (basic/transports, "Streamable HTTP").
class streamable_http {
public:
    streamable_http(server_core& core, const settings& config, session_store& sessions);

    void add_routes(router& routes);

private:
    awaitable<> post(exchange& x);
    awaitable<> get(exchange& x);
    awaitable<> listen(exchange& x, http_session& from);
    awaitable<> remove(exchange& x);

    awaitable<> serve_session(exchange& x, jsonrpc::payload received, accepted_types accepted);
    std::shared_ptr<http_session> session_of(const http_request& request, http_reply& refusal) const;
    std::shared_ptr<http_session> session_for(const http_request& request, const jsonrpc::payload& received,
                                              http_reply& refusal);
    awaitable<> answer_requests(exchange& x, std::shared_ptr<http_session> from, std::vector<jsonrpc::message> requests,
                                bool batch, accepted_types accepted);

    server_core& core_;
    const settings& config_;
    session_store& sessions_;
    stateless_http stateless_;
};

}  // namespace cmcp
