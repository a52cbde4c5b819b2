#pragma once

#include "async/asio.hpp"
#include "cluster/member_links.hpp"
#include "config/cluster_member.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A connection to a member for short questions. They do not use the connections of member_links, of which some may
/// lead to a machine that is gone. A question at a time.
class member_line {
public:
    member_line(std::shared_ptr<member_links> links, cluster_member to) : links_(std::move(links)), to_(std::move(to))
    {
    }

    const cluster_member& to() const { return to_; }

    /// POSTs `target` without a body. Nothing: there is no answer within `limit`; else its {"yes"}.
    awaitable<std::optional<bool>> ask(std::string target, std::chrono::milliseconds limit);

private:
    awaitable<std::optional<bool>> ask_twice(std::string target);
    awaitable<std::optional<bool>> exchange(std::string target);

    std::shared_ptr<member_links> links_;
    cluster_member to_;
    std::unique_ptr<http_connection> connection_;  // null: none is open
};

}  // namespace cmcp
