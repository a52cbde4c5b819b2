#pragma once

#include "async/memory_budget.hpp"
#include "config/settings.hpp"
#include "http/exchange.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/server_core.hpp"
#include "transport/accepted_types.hpp"

#include <memory>

namespace cmcp {

/// Revision 2026-07-28 over HTTP: a request stands for itself, its headers repeat what its body says, and the client
/// cancels it by closing the stream.
class stateless_http {
public:
    stateless_http(server_core& core, const settings& config, std::shared_ptr<memory_budget> budget)
        : core_(core), config_(config), budget_(std::move(budget))
    {
    }

    awaitable<> serve(exchange& x, jsonrpc::message received, accepted_types accepted);

private:
    awaitable<> answer(exchange& x, jsonrpc::request request, accepted_types accepted);

    server_core& core_;
    const settings& config_;
    std::shared_ptr<memory_budget> budget_;
};

}  // namespace cmcp
