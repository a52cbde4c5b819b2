#pragma once

#include "identity/login.hpp"

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cmcp {

/// A request as a proof of possession describes it.
struct proven_request {
    std::string_view proof;  ///< the field DPoP
    std::string_view method;
    std::vector<std::string> addresses;  ///< each form of the request's URL, without query
    std::string_view token;
};

/// The judgement of a proof.
struct proof_decision {
    std::string problem{};     ///< a sentence; empty: the sender has the key
    bool unavailable = false;  ///< nobody can say whether another server has seen it
    std::string to_claim{};    ///< the other servers of the cluster have to be asked whether they have seen it
};

/// Proofs of possession (DPoP, RFC 9449 section 4.3). Each is good once. Io thread only.
class proofs {
public:
    explicit proofs(std::chrono::seconds skew) : skew_(skew) {}

    static constexpr std::chrono::seconds remembered_for{600};  ///< longer than a proof is good

    /// Whether the proof shows that the sender has the key of this thumbprint.
    proof_decision judge(const proven_request& of, std::string_view thumbprint, login::clock::time_point now);

    void share() { is_shared_ = true; }  ///< with other servers: each proof has to be claimed first
    /// The answer of the other servers. Nothing: there was none, and the next judgement of this proof says so.
    void claimed(std::string digest, std::optional<bool> first);

private:
    bool is_new(std::string digest, login::clock::time_point now);

    std::chrono::seconds skew_;
    bool is_shared_ = false;
    std::unordered_set<std::string> claimed_;     // and not yet used
    std::unordered_set<std::string> unanswered_;  // and not yet judged again
    std::unordered_set<std::string> seen_;
    std::deque<std::pair<login::clock::time_point, std::string>> ages_;  // oldest first
};

}  // namespace cmcp
