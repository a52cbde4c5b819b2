#pragma once

#include "mcp/input_required.hpp"
#include "mcp/stateless_request.hpp"

#include <array>
#include <string>
#include <string_view>

namespace cmcp {

/// Signs what travels through the client between two attempts of a call (HMAC-SHA-256).
class request_state {
public:
    /// Servers with the same secret open each other's states. Empty: a random key, so this object opens its own alone.
    explicit request_state(std::string_view secret = {});

    std::string seal(const json::object& state) const;

    /// Throws rpc_error invalid_params when the text was not sealed here or was changed.
    json::object open(std::string_view sealed) const;

private:
    std::string signature(std::string_view text) const;

    std::array<unsigned char, 32> key_;
};

/// The state that a retried call of 2026-07-28 brings along: the client's answers and the server's own signed state,
/// which is bound to the principal, the method and the name that it was made for, and to an hour.
struct attempt_state {
    json::object answers;    ///< of this attempt and of earlier ones, by key
    std::string tool_state;  ///< what the tool gave in input_required
    std::string job;         ///< in which the call goes on that asked; empty: this attempt begins anew

    /// Throws rpc_error invalid_params for a state that was tampered with and for answers that are no objects.
    static attempt_state from(const stateless_request& incoming, const request_state& seal);
};

/// The InputRequiredResult. `used`: earlier answers that the next attempt needs again.
json::object input_required_result(const stateless_request& incoming, const input_required& needed,
                                   const json::object& used, const request_state& seal);

}  // namespace cmcp
