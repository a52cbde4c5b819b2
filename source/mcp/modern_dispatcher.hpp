#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/catalogue.hpp"
#include "mcp/change_hub.hpp"
#include "mcp/modern_request.hpp"
#include "mcp/request_register.hpp"
#include "mcp/request_state.hpp"

namespace cmcp {

/// Revision 2026-07-28: every request stands for itself.
class modern_dispatcher {
public:
    modern_dispatcher(catalogue& offered, request_register& requests, change_hub& changes)
        : offered_(offered), requests_(requests), changes_(changes)
    {
    }

    awaitable<> request(std::string principal, jsonrpc::request incoming, std::shared_ptr<message_sink> reply);

private:
    awaitable<json::object> execute(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                    std::string log_id);
    awaitable<json::object> attempt(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply,
                                    std::string log_id);
    awaitable<json::object> listen(std::shared_ptr<modern_request> incoming, std::shared_ptr<message_sink> reply);
    json::object discover() const;
    change_filter filter_of(const json::object& params) const;
    void check(const std::string& method) const;

    catalogue& offered_;
    request_register& requests_;
    change_hub& changes_;
    request_state states_;
};

}  // namespace cmcp
