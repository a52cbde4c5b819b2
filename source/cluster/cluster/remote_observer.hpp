#pragma once

#include "cluster/member_request.hpp"
#include "mcp/change.hpp"

#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// Passes on the params of the notifications with which the member tells of a resource or a task of its own, for as
/// long as the handle lives. After a time in which the member could not be heard, a resource counts as changed once.
/// `message` is without its text.
std::shared_ptr<void> observe_at_member(asio::any_io_executor executor, std::shared_ptr<member_links> links,
                                        member_message message, const change& what,
                                        std::function<void(json::object params)> heard);

}  // namespace cmcp
