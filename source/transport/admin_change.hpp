#pragma once

#include "http/exchange.hpp"
#include "http/route.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

// Shared by the routes with which administrators change keys, quotas and secrets.
namespace cmcp {

double seconds_since_1970();  ///< now

http_reply uncached_reply(const json::object& body);

/// The end of the path, decoded.
std::string last_part_of_path(const http_request& request);

/// Puts what was changed into the log and the audit.
void note_admin_change(exchange& x, std::string_view event, const std::string& what);

/// An operation whose answer is an object with `member`. A path that ends with a star ends with an id; `takes`: the
/// schema of the body, empty where there is none.
route_operation admin_operation(std::string path, std::string_view id, std::string_view summary,
                                std::string_view member, json::object takes);

}  // namespace cmcp
