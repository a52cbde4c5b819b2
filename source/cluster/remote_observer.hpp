#pragma once

#include "cluster/member_request.hpp"
#include "mcp/change.hpp"

#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// Calls `changed` whenever the member says that its resource has changed, for as long as the handle lives, and once
/// after each time in which the member could not be heard. `message` is without its text.
std::shared_ptr<void> observe_at_member(asio::any_io_executor executor, std::shared_ptr<member_links> links,
                                        member_message message, const change& what,
                                        std::function<void(json::object params)> heard);

}  // namespace cmcp
