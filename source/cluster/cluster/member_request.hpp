#pragma once

#include "cluster/member_links.hpp"
#include "jsonrpc/json.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace cmcp {

/// A message of MCP for another member.
struct member_message {
    cluster_member to;
    std::string caller;                 ///< the value of member_caller_field
    std::string text;                   ///< JSON-RPC request of 2026-07-28
    std::string request_id;             ///< X-Request-Id
    std::chrono::milliseconds silence;  ///< a member that sends nothing for so long is gone
};

/// Takes each message that comes back, as its text: notifications, then the response. False: enough.
using message_taker = std::function<awaitable<bool>(std::string text)>;

/// POSTs the message to /mcp of the member and reads the answer, whether one JSON object or server-sent events, until
/// its end. Throws member_unreachable.
awaitable<> send_to_member(std::shared_ptr<member_links> links, member_message message, message_taker take);

/// A request of REST without a body for another member.
struct member_request {
    cluster_member to;
    std::string caller;  ///< as in member_message
    std::string method;
    std::string target;  ///< path and query
    std::string request_id;
    std::chrono::milliseconds silence;
};

struct member_reply {
    int status = 0;
    std::string body;
};

/// The whole answer, whatever its status. Throws member_unreachable.
awaitable<member_reply> ask_member(std::shared_ptr<member_links> links, member_request request);

}  // namespace cmcp
