#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A source of MCP resources. All members see only what belongs to the caller.
class resource_provider {
public:
    virtual ~resource_provider() = default;

    virtual awaitable<json::array> list(const caller& who) = 0;  ///< `Resource` objects, in a fixed order
    virtual json::array templates() const = 0;                   ///< `ResourceTemplate` objects

    /// The `contents` array of resources/read, or nothing when there is no such resource here.
    virtual awaitable<std::optional<json::array>> read(const caller& who, std::string uri) = 0;

    /// Calls `changed` on the io thread whenever the resource has changed (notifications/resources/updated), for as
    /// long as the handle lives; the handle may outlive the provider. Null: there is no such resource for this caller,
    /// nor could there be one. Throws rpc_error where there is no room for another observer.
    virtual std::shared_ptr<void> observe(const caller& who, const std::string& uri, std::function<void()> changed) = 0;
};

}  // namespace cmcp
