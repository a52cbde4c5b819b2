#pragma once

#include "egress/egress_ticket.hpp"
#include "networks/network_caller.hpp"
#include "networks/network_question.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The questions about the networks of sandboxes and how they were decided. A question goes to the client of a call
/// that runs in the sandbox at that moment. Io thread only.
class network_questions {
public:
    /// Adds the place to the sandbox's record. False: its network does not ask any more, or is full.
    using keep = std::function<bool(const std::string& sandbox, const std::string& place)>;

    /// The places that runs of the sandbox may reach have changed.
    using changed = std::function<void(const std::string& sandbox)>;

    /// `patience`: how long an answer is waited for; it may change.
    network_questions(const std::chrono::milliseconds& patience, keep keeps, changed changes)
        : patience_(patience), keep_(std::move(keeps)), changed_(std::move(changes))
    {
    }
    network_questions(const network_questions&) = delete;
    network_questions& operator=(const network_questions&) = delete;

    const std::chrono::milliseconds& patience() const { return patience_; }

    /// Whether the place may be reached, though the list of the sandbox does not name it.
    awaitable<policy_decision> ask(std::string sandbox, std::shared_ptr<const egress_ticket> ticket, host who,
                                   std::uint16_t port);

    /// The verdict with a sentence that says why and what to do.
    static policy_decision refusal(const std::string& place, std::string rule, const std::string& why);

    /// The places that are allowed as long as a run goes on.
    std::vector<std::string> allowed_for_runs(const std::string& sandbox) const;

    /// The places that users have refused.
    std::vector<std::string> refused(const std::string& sandbox) const;

    /// The places that users have allowed since the last call, in words for a result.
    std::vector<std::string> take_notes(const std::string& sandbox);

    void forget_refusals(const std::string& sandbox);  ///< the sandbox has another cell
    void renew(const std::string& sandbox);            ///< it has another network: open questions are refused, too
    void forget(const std::string& sandbox);           ///< it is gone
    void stop();

private:
    friend class network_caller;

    struct of_sandbox {
        std::vector<network_caller*> callers;  // the latest one last
        std::vector<std::shared_ptr<network_question>> open;
        std::map<std::string, policy_decision> refused;
        std::vector<std::string> notes;
    };

    void enter(network_caller& begun) { sandboxes_[begun.sandbox()].callers.push_back(&begun); }
    void leave(network_caller& ended);
    network_caller* caller_in(const of_sandbox& of, std::string& obstacle) const;
    std::optional<policy_decision> known(const of_sandbox& of, const std::string& place) const;
    std::shared_ptr<network_question> open_question(const of_sandbox& of, const std::string& place) const;

    void allow(network_caller& by, const network_question& question, bool lasting);
    void refuse(network_caller& by, const network_question& question);
    void settle(const std::string& sandbox, const std::string& place, const policy_decision& verdict);
    void settle_all(of_sandbox& of, const std::string& why);

    const std::chrono::milliseconds& patience_;
    keep keep_;
    changed changed_;
    std::map<std::string, of_sandbox> sandboxes_;
};

}  // namespace cmcp
