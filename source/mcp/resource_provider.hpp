#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"

#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// A source of MCP resources. All members see only what belongs to the caller.
class resource_provider {
public:
    virtual ~resource_provider() = default;

    virtual awaitable<json::array> list(const caller& who) = 0;       ///< `Resource` objects, in a fixed order
    virtual json::array templates() const = 0;                        ///< `ResourceTemplate` objects

    /// The `contents` array of resources/read, or nothing when there is no such resource here.
    virtual awaitable<std::optional<json::array>> read(const caller& who, std::string uri) = 0;

    /// Called with the URI of a resource that changed (notifications/resources/updated).
    virtual void on_update(std::function<void(std::string uri)> listener) = 0;
};

}  // namespace cmcp
