#pragma once

#include "identity/login.hpp"

#include <chrono>
#include <deque>
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

/// Proofs of possession (DPoP, RFC 9449 section 4.3). Each is good once. Io thread only.
class proofs {
public:
    explicit proofs(std::chrono::seconds skew) : skew_(skew) {}

    /// Why the proof does not show that the sender has the key of this thumbprint; empty: it does.
    std::string problem(const proven_request& of, std::string_view thumbprint, login::clock::time_point now);

private:
    bool is_new(std::string digest, login::clock::time_point now);

    std::chrono::seconds skew_;
    std::unordered_set<std::string> seen_;
    std::deque<std::pair<login::clock::time_point, std::string>> ages_;  // oldest first
};

}  // namespace cmcp
