#pragma once

#include "async/asio.hpp"
#include "config/labels.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/change.hpp"
#include "mcp/node_trials.hpp"
#include "mcp/running_request.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// In the data of an error: the answering node does not have the sandbox any more; and the node that has it then.
inline constexpr std::string_view moved_mark = "sandbox_moved";
inline constexpr std::string_view moved_to_mark = "node";

/// The other servers of a cluster, as the protocol sees them: a request for what another one has is answered by that.
class other_nodes {
public:
    virtual ~other_nodes() = default;

    /// The node that has what the handle names, where it is another server of the cluster, or this one where it is
    /// still to be brought here; else empty.
    virtual std::string owner_of(std::string_view handle) const = 0;
    virtual bool is_own(std::string_view node) const = 0;

    using shared_params = std::shared_ptr<const json::object>;

    /// The result of the request there, made as one of 2026-07-28 with these params. What it sends before its result
    /// goes to request.reply. Throws rpc_error, that of the answer, and node_unreachable.
    virtual awaitable<json::object> call(running_request& request, std::string node, shared_params params) = 0;

    /// The node that has the sandbox from now on, where `node` does not answer: the same, which may answer now, or
    /// another one; empty: this one. Nothing: none has. `tried`: when it was asked. Throws node_unreachable.
    virtual awaitable<std::optional<std::string>> find_again(std::string handle, std::string node,
                                                             movable_request::moment tried) = 0;

    /// The node, where it is another server, that has the caller's sandbox of this name, or with an empty one the
    /// latest of all; else empty.
    virtual awaitable<std::string> node_with(const caller& who, std::string name) = 0;

    /// What a new sandbox needs of its server.
    struct wish {
        std::string image{};  ///< as the caller has named it; empty: the usual one
        label_map labels{};
    };

    /// The node, where it is another server, that should make a new sandbox for the caller; else empty. One that has a
    /// sandbox of this name refuses; else one that has what it needs, and room.
    virtual awaitable<std::string> node_for_new(const caller& who, std::string name, wish needs) = 0;

    /// The node, where it is another server, at which the caller's default sandbox is; else empty.
    virtual awaitable<std::string> home_of(const caller& who) = 0;
    virtual std::string known_home_of(const caller& who) const = 0;  ///< as far as it is known now

    /// The handle of the caller's default sandbox, for owner_of() and find_again(); empty: it never goes to another
    /// node.
    virtual std::string default_sandbox_of(const caller& who) const = 0;

    struct answer {
        std::string node;
        json::object result;  ///< empty: the node does not answer
    };
    /// The same result from each of the others, in the form for programs, for a list that all make together.
    virtual awaitable<std::vector<answer>> ask_all(running_request& request) = 0;

    /// The same without those that have no sandboxes, jobs or files of the caller for sure.
    virtual awaitable<std::vector<answer>> ask_holders(running_request& request) = 0;

    /// Tells all others that a list of this server has changed ("tools", "prompts"), because clients may listen there.
    virtual void tell_list_changed(const std::string& list) = 0;

    /// Hears the notifications of a resource or a task that `node` has, for as long as the handle lives.
    virtual std::shared_ptr<void> observe(const caller& who, std::string node, const change& what,
                                          std::function<void(json::object params)> heard) = 0;
};

struct catalogue;

/// The node of what the request is about, by the arguments that `x-mcp-header` marks as handles, by the name of a
/// sandbox, by the task or by the resource; empty: this one, or none.
awaitable<std::string> node_of(const running_request& request, const catalogue& offered);

/// other_nodes::call() with the records of this server, on another node where the sandbox is there from now on. A tool
/// call that no node answers has a result that says so, because the model is to read it. Throws found_here.
awaitable<json::object> call_elsewhere(const catalogue& offered, running_request& request, std::string node,
                                       json::object params);

/// The node of `sandbox://HANDLE/…`, or of a file of the default sandbox; empty: as above.
std::string node_of_resource(const caller& who, std::string_view uri, const other_nodes& nodes);

}  // namespace cmcp
