#pragma once

#include "cluster/member_watch.hpp"
#include "cluster/members.hpp"
#include "mcp/node_trials.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Whether the other server is gone for sure, so that it serves no sandbox now. Nothing: it does not answer, but the
/// others do not agree yet.
using gone_question = std::function<awaitable<std::optional<bool>>(std::string node)>;

/// Sandboxes that may be at another server than their handle names, by a store of snapshots.
/// Empty functions: none may.
struct moving_sandboxes {
    /// The node that has claimed it; empty: none, it is where the handle says.
    std::function<std::string(std::string_view handle)> node_of{};

    /// Whether it is at this node and not still on its way.
    std::function<bool(const std::string& handle)> is_here{};

    /// The node that has the sandbox from now on, where `node` does not answer: this one brings it here if it may.
    /// `node`: it may answer now. Empty: nobody has it. Throws std::runtime_error with a sentence.
    std::function<awaitable<std::string>(std::string handle, std::string node, gone_question is_gone)> find{};

    /// The handle of a caller's default sandbox, and a look for its owner where only the storage knows that.
    std::function<std::string(const std::string& principal)> default_sandbox{};
    std::function<awaitable<>(std::string handle)> look_for_owner{};

    /// Sandboxes of this server; and what may go from here because nothing goes on in it, the longest unused first.
    /// `stopped`: without programs in the background.
    std::function<std::vector<std::string>()> all{};
    std::function<std::vector<std::string>(bool stopped)> idle{};

    /// Gives a sandbox of this server away: `take` asks another one, which takes it by its find(). Throws
    /// gateway_error.
    std::function<awaitable<>(std::string handle, std::function<awaitable<bool>()> take)> hand_over{};
};

/// The members that have what handles name. Io thread only.
class handle_locations {
public:
    /// Both must outlive this.
    handle_locations(const members& all, member_watch& watch, moving_sandboxes moving)
        : members_(all), watch_(watch), moving_(std::move(moving))
    {
    }

    /// The other member that has it; null: this server, or nobody.
    const cluster_member* owner_of(std::string_view handle) const;

    /// Whether this server has claimed it, and find_again() is still to bring it.
    bool is_on_its_way(std::string_view handle) const;

    /// The handle of the caller's default sandbox; empty: it is not kept in a storage, and stays where it is.
    std::string default_sandbox_of(const std::string& principal) const;

    /// The node, this one included, that has claimed the default sandbox of this handle; empty: none.
    awaitable<std::string> home_by_claim(std::string handle);
    std::string known_home_by_claim(std::string_view handle) const;  ///< as far as it is known now

    /// Whether the sandbox is at another server, so that a member that has asked here has to look for it again.
    bool is_misdirected(std::string_view handle) const;

    /// The other member of this name. Throws node_unreachable: this server's own name means a sandbox that is coming.
    cluster_member member(const std::string& node) const;

    /// The node that has the sandbox from now on, where `node` does not: the same, which may answer now, or another
    /// one; empty: this server. Nothing: none has. Throws node_unreachable, where it could not be found out or brought
    /// here.
    awaitable<std::optional<std::string>> find_again(std::string handle, std::string node);

private:
    const members& members_;
    member_watch& watch_;
    moving_sandboxes moving_;
};

}  // namespace cmcp
