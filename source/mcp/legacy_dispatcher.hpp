#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/legacy_channel.hpp"
#include "mcp/request_register.hpp"
#include "mcp/session.hpp"

namespace cmcp {

/// The older revisions: initialize, then requests within a session.
class legacy_dispatcher {
public:
    legacy_dispatcher(catalogue& offered, request_register& requests, change_hub& changes)
        : offered_(offered), requests_(requests), changes_(changes)
    {
    }

    /// `keeps`: what must live as long as the request; `ends`: as running_request's.
    awaitable<> request(std::shared_ptr<void> keeps, std::shared_ptr<session> who,
                        std::shared_ptr<jsonrpc::request> incoming, std::shared_ptr<message_sink> reply,
                        std::shared_ptr<canceller> ends);
    void notification(session& who, const jsonrpc::notification& incoming) const;
    void response(session& who, const jsonrpc::response& incoming) const;

private:
    awaitable<json::object> execute(std::shared_ptr<session> who, std::shared_ptr<jsonrpc::request> incoming,
                                    std::shared_ptr<message_sink> reply, std::shared_ptr<running_request> running);
    json::object initialize(session& who, const json::object& params) const;
    void check(const session& who, const std::string& method) const;

    catalogue& offered_;
    request_register& requests_;
    change_hub& changes_;
};

}  // namespace cmcp
