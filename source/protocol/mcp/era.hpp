#pragma once

#include "mcp/running_request.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

struct catalogue;
struct peer;

/// How one era of the protocol has its requests: what says who asks, which methods there are, how results are written
/// and how the client is asked something. The life of a request is the same for both (server_core).
class era {
public:
    virtual ~era() = default;

    virtual std::shared_ptr<running_request> make(jsonrpc::request incoming, const peer& from) const = 0;

    /// Reads who asks and in which revision, and looks whether the method is served. Throws rpc_error.
    virtual void check(running_request& request) const = 0;

    /// The result of a method that is done while the message is taken; nothing for others. Throws rpc_error.
    virtual std::optional<json::object> at_once(running_request&) { return std::nullopt; }

    /// Makes one attempt of the method. Throws input_required.
    virtual awaitable<json::object> attempt(running_request& request) = 0;

    /// Makes one attempt of the method on the node that has what it is about. Throws input_required.
    virtual awaitable<json::object> attempt_on(running_request& request, std::string node) = 0;

    /// Gets the answers to what an attempt asked, for the next one; or returns the result that ends the call instead.
    virtual awaitable<std::optional<json::object>> ask(running_request& request, input_required needed) = 0;

    /// Adds what each result has.
    virtual void complete(const running_request&, json::object&) const {}

    /// Attempts until there is a result.
    awaitable<json::object> result_of(std::shared_ptr<running_request> request, const catalogue& offered);
};

}  // namespace cmcp
