#pragma once

#include "async/task_group.hpp"
#include "async/turns.hpp"
#include "cluster/etcd_names.hpp"
#include "cluster/member_lease.hpp"
#include "cluster/member_loads.hpp"
#include "etcd/etcd_client.hpp"
#include "identity/quotas.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The belongings of principals at this server: "sandboxes", "disk" and the other counts of limit_names(), "names" of
/// its sandboxes, "latest", when the newest of them but the default one was made, in seconds since 1970, "home": there
/// are files in its default sandbox, "claimed": that is at this server and nowhere else, and "listed": there are jobs,
/// ended ones as well. Counts of 0 are left out.
struct holdings_source {
    std::function<json::object(const std::string& principal)> of;
    std::function<std::vector<std::string>()> owners;  ///< all that have anything that outlives a restart
    std::function<std::set<std::string>()> listed{};   ///< those with sandboxes or jobs
};

/// The belongings of principals at all servers of a cluster, by etcd (`use/<principal>/<node>`): quotas count what is
/// elsewhere, a call of one server counts at all, and names of sandboxes lead to their servers. What a server has told
/// goes with its lease. Where etcd is away, each server counts its own. Io thread only.
class shared_holdings {
public:
    /// A server's part of the cluster.
    struct parts {
        etcd_client& etcd;
        const members& all;
        member_loads& loads;
        const member_lease& lease;
    };

    /// All must outlive this. `limits` counts by it from now on.
    shared_holdings(asio::any_io_executor executor, parts with, const cluster_settings& config, quotas& limits,
                    holdings_source own);
    shared_holdings(const shared_holdings&) = delete;
    shared_holdings& operator=(const shared_holdings&) = delete;
    ~shared_holdings();

    /// Tells what has changed since it was told, or everything. False: not all of it is told.
    awaitable<bool> tell(bool everything);

    /// Hears what members tell, until it is cancelled.
    awaitable<> listen();

    /// For those who ask outside of calls.
    awaitable<> learn_again();

    /// A call of a tool begins: learns what the principal has elsewhere. `counts`: it is one of the quota's; then how
    /// long the caller has to wait before it asks again.
    awaitable<std::chrono::milliseconds> begin_call(std::string principal, bool counts);

    /// A call has ended that may have made or deleted something.
    awaitable<> end_call(std::string principal);

    /// A sandbox of the principal is to be made: one after the other at all servers, so that quota and names of all
    /// count. The turn lasts until its handle goes. Where etcd is away there is none. Throws sandbox_error: another
    /// server has one of this name.
    awaitable<std::shared_ptr<void>> begin_making(std::string principal, std::string name);

    bool has_own(const std::string& principal, std::string_view name) const;  ///< a sandbox of this name, here

    /// The other member that has the principal's sandbox of this name, where this server has none; the name empty: that
    /// has a newer sandbox than this server. Empty: no other one.
    awaitable<std::string> node_with(std::string principal, std::string name);

    /// The other members that have no sandboxes, jobs or files of the principal for sure; empty where nobody knows.
    awaitable<std::set<std::string>> without_any(std::string principal);

    std::string place_sandbox(const member_loads::wish& needs) { return with_.loads.place_sandbox(needs); }

    /// The member, this server included, at which the principal's default sandbox is. One that has none yet gets its
    /// home here: the first with room from its place on the ring.
    awaitable<std::string> home_of(std::string principal);
    std::string known_home_of(std::string_view principal) const;  ///< as far as it is known now

private:
    using rows = std::map<std::string, json::object>;  // by member
    struct known {
        std::string principal{};
        rows others{};
        principal_limits elsewhere{};  // their sum
        std::string home{};            // member with the default sandbox; empty: not known
        std::int64_t home_revision = 0;
        event::clock::time_point used{};
        std::uint64_t calls = 0;  // of the shared budget that may begin here
        bool fresh = false;       // nobody has told anything since
    };

    known& entry_of(std::string_view principal);
    void learn(known& of, const etcd_outcome* answer, bool fresh);  // null: no answer
    void note_news(std::string_view key);
    void forget_all();
    awaitable<std::optional<etcd_outcome>> ask_about(std::string principal);
    awaitable<> learn_where_needed(std::string principal);
    const principal_limits& elsewhere(std::string_view principal);
    std::string free_home_for(std::string_view principal) const;
    bool is_home(const std::string& member) const;
    awaitable<std::optional<std::chrono::milliseconds>> take_calls(std::string principal, std::uint64_t most);
    awaitable<bool> tell_changes(std::set<std::string> principals, bool again);
    struct making;
    awaitable<bool> take_turn(std::string principal);
    awaitable<> end_turn(std::string principal, std::shared_ptr<turns::turn> own);
    awaitable<> tell_home(std::string principal, bool is_claimed);

    parts with_;
    etcd_names names_;
    bool homes_stay_;
    quotas& limits_;
    holdings_source own_;
    std::map<std::string, std::string> told_;          // by principal
    std::map<std::string, known, std::less<>> known_;  // by principals as keys have them
    std::uint64_t news_ = 0;                           // that members have told
    bool hears_ = false;                               // what members tell
    turns making_;                                     // of sandboxes, by principal
    task_group ending_;
    std::shared_ptr<int> lives_ = std::make_shared<int>();  // a sandbox may be made until the server has ended
};

}  // namespace cmcp
