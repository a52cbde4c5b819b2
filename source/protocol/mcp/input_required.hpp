#pragma once

#include "jsonrpc/json.hpp"

#include <exception>
#include <string>

namespace cmcp {

/// Ends a call of revision 2026-07-28 with `resultType: "input_required"`. Thrown by request_io::ask, or by a tool that
/// asks several things at once.
struct input_required : std::exception {
    json::object input_requests;  ///< key -> {method, params}; may be empty when only state is handed back
    std::string request_state;    ///< opaque to the client, signed by the dispatcher; empty: none
    std::string job;              ///< in which the call goes on meanwhile; empty: it has ended

    const char* what() const noexcept override { return "input required"; }
};

}  // namespace cmcp
