#pragma once

#include "async/event.hpp"
#include "cluster/members.hpp"
#include "etcd/etcd_client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cmcp {

/// This server's registration in etcd, `member/<node>` under a lease of CLUSTER_LEASE seconds. While the lease lasts,
/// nobody takes over what is here. Its time is counted from before it was asked for, by a clock that goes on while the
/// machine is suspended (CLOCK_BOOTTIME, clock_gettime(2)), and ends a second early. Io thread only.
class member_lease {
public:
    /// All must outlive this. `about`: what the server says of itself.
    member_lease(etcd_client& etcd, const cluster_settings& config, members& all, std::function<json::object()> about);

    /// `hold`: the lease may have ended, so what runs here must stand still (true), until it goes on (false). `settle`:
    /// this server is registered anew, and others may have taken over what was here; before anything goes on. Where it
    /// throws, it is called again.
    struct changes {
        std::function<awaitable<>()> settle;
        std::function<void(bool on)> hold;
    };
    void on_change(changes calls) { calls_ = std::move(calls); }

    /// Registers this server. Nothing comes of it where etcd is away. Throws config_error where another server of this
    /// name stays registered.
    awaitable<> enter();

    /// Keeps the registration until it is cancelled.
    awaitable<> run();

    /// Before this server takes no requests any more: others send it none over connections that are open.
    awaitable<> say_that_it_leaves();

    /// At the end of this server: others may take what it has at once.
    awaitable<> leave();

    bool is_in_touch() const;  ///< nobody may take over what is here

    /// Before a call, and before its success is told: ends when this server is in touch, by an answer of etcd that is
    /// not older than cluster_confirm, or at the limit: false. A machine whose clocks stood still meanwhile is not in
    /// touch though it says so.
    awaitable<bool> be_sure(std::chrono::milliseconds limit);
    std::int64_t number() const { return lease_; }  ///< of the lease; 0: there is none
    event& changed() { return changed_; }

    /// Tells others what it says of itself now, where that has changed.
    awaitable<> tell(bool told_all);

    /// Whether no server of this name is registered, so that none serves what it had. Nothing: it is still there at
    /// the limit. False: it has registered anew meanwhile.
    awaitable<std::optional<bool>> is_gone(std::string member, std::chrono::milliseconds limit);

    /// Whether the other server has for sure renewed its registration since then.
    awaitable<bool> is_renewed(std::string member, std::chrono::steady_clock::time_point since);

private:
    using nanoseconds = std::chrono::nanoseconds;
    enum class standing { out, held, in };

    awaitable<bool> try_to_enter();
    awaitable<bool> take_name(std::int64_t lease);
    awaitable<bool> renew();
    void hold();
    bool is_confirmed() const;
    awaitable<> confirm();
    awaitable<bool> go_on(bool is_new);
    std::string entry() const;

    etcd_client& etcd_;
    const cluster_settings& config_;
    members& members_;
    std::function<json::object()> about_;
    changes calls_;
    standing is_ = standing::out;
    std::int64_t lease_ = 0;
    nanoseconds deadline_{};   // by CLOCK_BOOTTIME
    nanoseconds confirmed_{};  // by the same: what the last answer was sent for
    bool confirms_ = false;    // for all who ask meanwhile
    bool told_all_ = false;
    std::string told_{};     // what the others have of it
    bool leaves_ = false;    // others are told so
    bool left_ = false;      // run() ends
    std::string in_use_by_;  // the address of another server of this name
    event changed_;
};

}  // namespace cmcp
