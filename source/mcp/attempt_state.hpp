#pragma once

#include "mcp/input_required.hpp"
#include "mcp/modern_request.hpp"
#include "mcp/request_state.hpp"

#include <string>

namespace cmcp {

/// What a retried call of 2026-07-28 brings along: the client's answers and the server's own signed state, which is
/// bound to the principal, the method and the name that it was made for, and to an hour.
struct attempt_state {
    json::object answers;    ///< of this attempt and of earlier ones, by key
    std::string tool_state;  ///< what the tool gave in input_required

    /// Throws rpc_error invalid_params for a state that was tampered with and for answers that are no objects.
    static attempt_state from(const modern_request& incoming, const request_state& seal);
};

/// The InputRequiredResult. `used`: earlier answers that the next attempt needs again.
json::object input_required_result(const modern_request& incoming, const input_required& asked,
                                   const json::object& used, const request_state& seal);

}  // namespace cmcp
