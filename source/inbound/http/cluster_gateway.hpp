#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// The cluster that a server belongs to, for its administrators and for the other members. Throws gateway_error.
class cluster_gateway {
public:
    virtual ~cluster_gateway() = default;

    /// {"node", "in_touch", "members": [{name, host, state, …}]}: state is up, drains, gone, or unknown where there is
    /// no directory; the loads are those of the directory.
    virtual json::object describe() const = 0;

    /// Moves a sandbox of this server in which nothing goes on, by its handle:
    /// {"sandbox", "node"}. `to` empty: to one with room.
    virtual awaitable<json::object> move(std::string sandbox, std::string to) = 0;

    /// This server takes nothing new and gives its sandboxes away as they become idle, until it is told
    /// otherwise:
    /// {"drains", "sandboxes"}, with those that are still here.
    virtual json::object drain(bool on) = 0;

    /// Gives idle sandboxes away that this server has above the mean of all: {"moved"}.
    virtual awaitable<json::object> rebalance() = 0;

    // Of another member, whose name is in the certificate of the one that asks.

    /// Whether a beat is acknowledged.
    virtual bool take_beat(std::string_view from) = 0;

    /// Whether this member agrees that `about` is gone.
    virtual bool vote(std::string_view from, std::string_view about) = 0;

    /// A sandbox is handed over: whether it is here now.
    virtual awaitable<bool> take(std::string from, std::string sandbox) = 0;

    /// A list of its own has changed ("tools", "prompts"): whether clients are told.
    virtual bool take_list_change(std::string_view from, std::string_view list) = 0;
};

}  // namespace cmcp
