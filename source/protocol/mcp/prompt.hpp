#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/tool_context.hpp"

#include <string>

namespace cmcp {

/// An MCP prompt.
class prompt {
public:
    virtual ~prompt() = default;

    /// The `Prompt` object of prompts/list: name, title, description, arguments.
    virtual json::object definition() const = 0;

    /// The result of prompts/get: description and messages. Required arguments have been checked.
    virtual awaitable<json::object> get(tool_context& context, json::object arguments) = 0;

    /// Values for completion/complete of one argument; at most 100 are sent.
    virtual json::array complete(std::string /*argument*/, std::string /*prefix*/) const { return {}; }
};

}  // namespace cmcp
