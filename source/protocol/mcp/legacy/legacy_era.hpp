#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/era.hpp"
#include "mcp/session.hpp"

namespace cmcp {

/// The older revisions: initialize, then requests within a session, in which the client is asked by requests.
class legacy_era final : public era {
public:
    legacy_era(catalogue& offered, change_hub& changes) : offered_(offered), changes_(changes) {}

    std::shared_ptr<running_request> make(jsonrpc::request incoming, const peer& from) const override;
    void check(running_request& request) const override;
    std::optional<json::object> at_once(running_request& request) override;
    awaitable<json::object> attempt(running_request& request) override;
    awaitable<json::object> attempt_on(running_request& request, std::string node) override;
    awaitable<std::optional<json::object>> ask(running_request& request, input_required needed) override;

    /// As server_core::state_of() and take_up().
    static json::object state_of(const session& who);
    void take_up(const std::shared_ptr<session>& who, const json::object& state) const;

private:
    json::object initialize(session& from, const json::object& params) const;

    catalogue& offered_;
    change_hub& changes_;
};

/// Messages of the client that are no requests.
void take_notification(session& from, const jsonrpc::notification& incoming);
void take_response(session& from, const jsonrpc::response& incoming);

}  // namespace cmcp
