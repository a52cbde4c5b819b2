#pragma once

#include "cluster/member_lease.hpp"
#include "cluster/members.hpp"
#include "mcp/node_trials.hpp"
#include "mcp/other_nodes.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Whether the other server is gone for sure, so that it serves no sandbox now. Nothing: it is registered still.
using gone_question = std::function<awaitable<std::optional<bool>>(std::string node)>;

/// Sandboxes that may be at another server than their handle names, by a store of snapshots.
/// Empty functions: none may.
struct moving_sandboxes {
    /// Whether the others believe this server, because it is registered for sure. Empty: they do.
    std::function<bool()> may_pass_on{};

    /// The node that has claimed it; empty: none, it is where the handle says.
    std::function<std::string(std::string_view handle)> node_of{};

    /// Whether it is at this node and not still on its way.
    std::function<bool(const std::string& handle)> is_here{};

    /// The node that has the sandbox from now on, where `node` does not answer: this one brings it here if it may.
    /// `node`: it may answer now. Empty: nobody has it. Throws std::runtime_error with a sentence.
    std::function<awaitable<std::string>(std::string handle, std::string node, gone_question is_gone)> find{};

    /// Whether another server has taken over a sandbox of the principal from this one since then.
    std::function<bool(const std::string& principal, std::chrono::steady_clock::time_point since)> has_lost{};

    /// What a sandbox of this server needs of the one that it goes to.
    std::function<other_nodes::wish(const std::string& handle)> needs_of{};

    /// The handle of a caller's default sandbox.
    std::function<std::string(const std::string& principal)> default_sandbox{};

    /// Sandboxes of this server; and what may go from here because nothing goes on in it, the longest unused first.
    /// `stopped`: without programs in the background.
    std::function<std::vector<std::string>()> all{};
    std::function<std::vector<std::string>(bool stopped)> idle{};

    /// Gives a sandbox of this server to the server `to`: `take` asks that to bring it, which does it by find(). Throws
    /// sandbox_error.
    std::function<awaitable<>(std::string handle, std::string to, std::function<awaitable<bool>()> take)> hand_over{};
};

/// The members that have what handles name. Io thread only.
class handle_locations {
public:
    /// Both must outlive this.
    handle_locations(const members& all, member_lease& lease, moving_sandboxes moving)
        : members_(all), lease_(lease), moving_(std::move(moving))
    {
    }

    /// The other member that has it; empty: this server, or nobody. It need not be there.
    std::string owner_of(std::string_view handle) const;

    /// Whether this server has claimed it, and find_again() is still to bring it.
    bool is_on_its_way(std::string_view handle) const;

    /// The handle of the caller's default sandbox; empty: it is not kept in a storage, and stays where it is.
    std::string default_sandbox_of(const std::string& principal) const;

    /// The node, this one included, that has claimed the default sandbox of this handle; empty: none.
    std::string home_by_claim(std::string_view handle) const;

    /// Whether the sandbox is at another server, so that a member that has asked here has to look for it again.
    bool is_misdirected(std::string_view handle) const;

    /// The other member of this name. Throws node_unreachable: this server's own name means a sandbox that is coming;
    /// also where the others do not believe this server now.
    cluster_member member(const std::string& node) const;

    /// The node that has the sandbox from now on, where `node` does not: the same, which may answer now, or another
    /// one; empty: this server. Nothing: none has. Throws node_unreachable, where it could not be found out or brought
    /// here, and where `node` lives after it was `tried` in vain, so that nobody takes over what it has.
    awaitable<std::optional<std::string>> find_again(std::string handle, std::string node,
                                                     movable_request::moment tried);

private:
    awaitable<std::optional<bool>> is_gone(std::string node, movable_request::moment tried, bool was_silent);

    const members& members_;
    member_lease& lease_;
    moving_sandboxes moving_;
};

}  // namespace cmcp
