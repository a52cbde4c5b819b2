#pragma once

#include "mcp/running_request.hpp"
#include "mcp/tool_context.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cmcp {

/// A request whose method runs; methods of either era are given it.
class served_request : public running_request {
public:
    served_request(jsonrpc::request incoming, const caller* asks);
    ~served_request() override;

    request_io& io() { return context->io; }
    const json::object* arguments() const override;

    json::object params;                        ///< in the memory of the message
    bool is_long = false;                       ///< see jsonrpc::request
    std::function<void(json::object)> discard;  ///< takes params that are long, where they are let go
    bool is_program = false;                    ///< see peer
    bool passed_on = false;                     ///< see peer
    std::optional<tool_context> context;        ///< for tools and prompts; empty before the method runs
    std::vector<std::int64_t> abandoned;        ///< ids of requests to the client that it need not answer any more
};

}  // namespace cmcp
