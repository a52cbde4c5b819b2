#pragma once

#include "async/asio.hpp"
#include "egress/byte_account.hpp"
#include "egress/egress_policy.hpp"
#include "egress/secret_source.hpp"
#include "streams/stream_socket.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// The limits of one use of the network.
struct egress_limits {
    std::uint64_t bytes = 256ull << 20;  ///< received and sent together
    std::size_t connections = 64;        ///< at once
    std::chrono::milliseconds resolve{10'000};
    std::chrono::milliseconds connect{10'000};
    std::chrono::milliseconds idle{60'000};  ///< a relayed connection on which nothing moves
};

/// A connection that was refused or failed.
struct egress_refusal {
    std::string host;
    std::uint16_t port = 0;
    /// As in policy_decision, or "unresolved", "unreachable", "timeout", "busy", "bytes", "bad response".
    std::string rule;
    std::string sentence;
};

/// Connects to a port of a sandbox's own loopback. Throws std::runtime_error with a sentence.
using way_into_sandbox = std::function<awaitable<stream_socket>(std::uint16_t port)>;

class egress_ticket;

/// Asks the user whether a host may be reached that the ticket's policy leaves to him; waits for the answer. Where it
/// is allowed, the policy allows it by then.
using egress_prompt =
    std::function<awaitable<policy_decision>(std::shared_ptr<const egress_ticket>, host, std::uint16_t port)>;

void note_egress_bytes(std::uint64_t more);  ///< for the figures

/// The right of one use (a scrape, a context of the browser, an installation) to go out through the guard: a policy,
/// limits, and a count of what was used. When the last pointer to one that the guard issued goes, the guard closes its
/// connections. shared_from_this() is a pointer that does not keep those open.
class egress_ticket : public std::enable_shared_from_this<egress_ticket> {
public:
    egress_ticket(std::string label, std::shared_ptr<const egress_policy> policy, egress_limits limits)
        : label_(std::move(label)), policy_(std::move(policy)), limits_(limits)
    {
    }
    egress_ticket(const egress_ticket&) = delete;
    egress_ticket& operator=(const egress_ticket&) = delete;

    const std::string& label() const { return label_; }  ///< for the audit lines: "web_browse"
    /// `request`: the id of the one that needs it; empty: none does.
    void belong_to(std::string principal, std::string request = {})
    {
        principal_ = std::move(principal);
        request_ = std::move(request);
    }
    const std::string& request() const { return request_; }
    const std::string& principal() const { return principal_; }  ///< empty: the default caller, or the server itself
    /// By which names and addresses are judged.
    const std::shared_ptr<const egress_policy>& policy() const { return outer_ ? outer_->policy() : policy_; }
    void use(std::shared_ptr<const egress_policy> policy) { policy_ = std::move(policy); }  ///< from now on
    const egress_limits& limits() const { return limits_; }

    /// A name, before anything is resolved: within another ticket the names that both policies allow, and else those of
    /// the policy.
    policy_decision judge(const host& who, std::uint16_t port) const;

    /// From now on this use is a part of that of `outer`: it reaches what that one may reach at the moment, asks whom
    /// it asks, counts there, and is over with it.
    void stay_within(std::shared_ptr<egress_ticket> outer) { outer_ = std::move(outer); }
    bool is_within_another() const { return outer_ != nullptr; }

    void end() { has_ended_ = true; }  ///< nothing moves by it any more
    bool has_ended() const { return has_ended_ || (outer_ && outer_->has_ended()); }

    /// From now on the names of this machine mean the sandbox's, and nothing else may be reached.
    void lead_into(way_into_sandbox sandbox) { inside_ = std::move(sandbox); }
    const way_into_sandbox& inside() const { return inside_; }  ///< empty: the ticket is for the outside

    /// For hosts that the policy leaves to the user.
    void ask_by(egress_prompt prompt) { prompt_ = std::move(prompt); }
    /// Empty: nobody is asked.
    const egress_prompt& prompt() const { return outer_ ? outer_->prompt() : prompt_; }

    /// From now on what a client says first (TLS, HTTP) must be for the name that its connection is for.
    void hold_to_names() { held_to_names_ = true; }
    bool held_to_names() const { return held_to_names_; }

    /// From now on the guard ends TLS to the hosts of these secrets, and puts them into requests.
    void hold_secrets(std::shared_ptr<secret_source> secrets) { secrets_ = std::move(secrets); }
    secret_source* secrets() const { return secrets_.get(); }  ///< null: none

    /// The latest refusals, oldest first, at most 32. A browser gives no reason, so they are stored here.
    const std::deque<egress_refusal>& refusals() const { return refusals_; }
    std::deque<egress_refusal> take_refusals() { return std::exchange(refusals_, {}); }
    void add_refusal(egress_refusal refusal)
    {
        if (outer_) outer_->add_refusal(refusal);
        refusals_.push_back(std::move(refusal));
        if (refusals_.size() > 32) refusals_.pop_front();
    }

    /// From now on what is moved counts there, too.
    void charge_to(std::shared_ptr<byte_account> account) { account_ = std::move(account); }
    byte_account* account() const { return outer_ ? outer_->account() : account_.get(); }  ///< null: none

    std::uint64_t bytes() const { return bytes_; }
    std::string refusal_of_bytes() const;  ///< once count() is false: a sentence that names the limit
    bool count(std::uint64_t more)         ///< false when the limit is passed, or nothing is left of the account
    {
        if (!outer_) note_egress_bytes(more);
        const bool is_left = outer_ ? outer_->count(more) : !account_ || account_->take(more);
        return (bytes_ += more) <= limits_.bytes && is_left && !has_ended_;
    }
    std::size_t connections() const { return connections_; }
    /// Counts a connection; false when there are too many.
    bool enter()
    {
        if (connections_ >= limits_.connections || (outer_ && !outer_->enter())) return false;
        ++connections_;
        return true;
    }
    void leave()
    {
        if (outer_) outer_->leave();
        --connections_;
    }

private:
    std::string label_;
    std::string principal_;
    std::string request_;
    std::shared_ptr<const egress_policy> policy_;
    egress_limits limits_;
    std::shared_ptr<egress_ticket> outer_;
    bool has_ended_ = false;
    way_into_sandbox inside_;
    egress_prompt prompt_;
    bool held_to_names_ = false;
    std::shared_ptr<secret_source> secrets_;
    std::shared_ptr<byte_account> account_;
    std::deque<egress_refusal> refusals_;
    std::uint64_t bytes_ = 0;
    std::size_t connections_ = 0;
};

}  // namespace cmcp
