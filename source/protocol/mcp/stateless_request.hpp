#pragma once

#include "mcp/modern_channel.hpp"
#include "mcp/running_request.hpp"

#include <optional>
#include <string>

namespace cmcp {

/// A request of 2026-07-28 with what its `_meta` says.
class stateless_request final : public running_request {
public:
    stateless_request(jsonrpc::request incoming, caller from)
        : running_request(std::move(incoming), nullptr), own(std::move(from))
    {
    }

    /// The part of a call that goes on when the call becomes a task: takes its params.
    explicit stateless_request(stateless_request& call);

    /// From then on `who` is set. Throws rpc_error: invalid_params (`_meta` incomplete), unsupported_protocol_version.
    void read_meta();

    const json::object& meta() const { return params.at("_meta").as_object(); }

    caller own;
    std::optional<revision> spoken;  ///< by the client, whose revision counts for what results look like
    std::optional<log_severity> log_level;
    std::optional<modern_channel> channel;  ///< what `context` refers to
};

}  // namespace cmcp
