#pragma once

#include "http/router.hpp"
#include "mcp/server_core.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/session_store.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

struct settings;

/// POST, GET and DELETE on /mcp: the revisions 2025-03-26 to 2025-11-25 with sessions, and 2026-07-28 when the body
/// claims it (basic/transports, "Streamable HTTP"). There a request stands for itself, its headers repeat what its body
/// says, and the client cancels it by closing the stream.
class streamable_http {
public:
    streamable_http(server_core& core, const settings& config, session_store& sessions)
        : core_(core), config_(config), sessions_(sessions)
    {
    }

    void add_routes(router& routes);

private:
    awaitable<> post(exchange& x);
    awaitable<> get(exchange& x);
    awaitable<> listen(exchange& x, http_session& from);
    awaitable<> remove(exchange& x);

    awaitable<> serve_stateless(exchange& x, jsonrpc::message received, accepted_types accepted);
    awaitable<> answer_stateless(exchange& x, jsonrpc::request request, accepted_types accepted);
    awaitable<> serve_session(exchange& x, jsonrpc::payload received, accepted_types accepted);
    std::shared_ptr<http_session> session_of(const http_request& request, http_reply& refusal) const;
    std::shared_ptr<http_session> session_for(const http_request& request, const jsonrpc::payload& received,
                                              http_reply& refusal);
    awaitable<> answer_requests(exchange& x, std::shared_ptr<http_session> from, jsonrpc::payload requests,
                                accepted_types accepted);

    server_core& core_;
    const settings& config_;
    session_store& sessions_;
};

}  // namespace cmcp
