#pragma once

#include "cluster/heartbeats.hpp"
#include "identity/quotas.hpp"

#include <chrono>
#include <functional>
#include <map>
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

/// The belongings of principals at all servers of a cluster, by the directory: quotas count what is elsewhere, a call
/// of one server counts at all, and names of sandboxes lead to their servers. Where the directory is away, each server
/// counts its own. Io thread only.
class shared_holdings {
public:
    /// All must outlive this. `limits` counts by it from now on.
    shared_holdings(directory& told_in, const members& all, heartbeats& beats, quotas& limits, holdings_source own);
    shared_holdings(const shared_holdings&) = delete;
    shared_holdings& operator=(const shared_holdings&) = delete;
    ~shared_holdings();

    /// Tells what has changed since it was told, or everything. False: not all of it is told.
    awaitable<bool> tell(bool everything);

    /// For those who ask outside of calls.
    awaitable<> learn_again();

    /// A call of a tool begins: learns what the principal has elsewhere. `counts`: it is one of the quota's; then how
    /// long the caller has to wait before it asks again.
    awaitable<std::chrono::milliseconds> begin_call(std::string principal, bool counts);

    /// A call has ended that may have made or deleted something.
    awaitable<> end_call(std::string principal);

    bool has_own(const std::string& principal, std::string_view name) const;  ///< a sandbox of this name, here

    /// The other member that has the principal's sandbox of this name, where this server has none; the name empty: that
    /// has a newer sandbox than this server. Empty: no other one.
    awaitable<std::string> node_with(std::string principal, std::string name);

    /// The other members that have no sandboxes, jobs or files of the principal for sure; empty where nobody knows.
    awaitable<std::set<std::string>> without_any(std::string principal);

    std::string place_sandbox() { return beats_.place_sandbox(); }

    /// The member, this server included, at which the principal's default sandbox is. One that has none yet gets its
    /// home here: the first with room from its place on the ring.
    awaitable<std::string> home_of(std::string principal);
    std::string known_home_of(std::string_view principal) const;  ///< as far as it is known now

private:
    using rows = std::map<std::string, json::object>;  // by member
    struct known {
        rows others{};
        principal_limits elsewhere{};  // their sum
        std::string home{};            // member with the default sandbox; empty: not known
        event::clock::time_point used{};
        bool fresh = false;            // nobody has told anything since
        std::uint64_t alive = 0;       // heartbeats::changes()
        std::uint64_t connection = 0;  // of the directory, by which it was learned
    };

    rows rows_of(const directory_reply& hash) const;
    bool is_fresh(std::string_view principal) const;
    void learn(const std::string& principal, const directory_reply* hash, bool fresh);  // null: no answer
    void note_news(const std::string& principal);
    awaitable<> learn_where_needed(std::string principal);
    const principal_limits& elsewhere(std::string_view principal);
    std::string free_home_for(std::string_view principal) const;
    awaitable<bool> tell_changes(std::set<std::string> principals, bool again);

    directory& directory_;
    const members& members_;
    heartbeats& beats_;
    quotas& limits_;
    holdings_source own_;
    std::map<std::string, std::string> told_;  // by principal
    std::map<std::string, known, std::less<>> known_;
    std::uint64_t news_ = 0;  // that members have told
};

}  // namespace cmcp
