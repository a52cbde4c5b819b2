#pragma once

#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// The error that a client gets in place of a response which it lost with its connection and the server does not keep
/// any more, for the request with the id `request` (JSON). It says how the call has ended and where its output is, as
/// far as `response` does: {"type": "ResponseLost", "bytes", "outcome"}. At most a few KiB.
std::string lost_response(const std::string& request, std::string_view response);

/// The same where the server has ended before its response: nobody knows how far the call came.
std::string lost_with_server(const json::value& id);

}  // namespace cmcp
