#pragma once

#include "async/asio.hpp"
#include "http/member_gateway.hpp"
#include "jsonrpc/json.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A list of /admin as one server of a cluster gives it.
struct node_list {
    std::string node;
    json::object answer;  ///< empty: the server does not answer
};

/// The member of rows by which they stand in a list, the largest first. Without a name they stay in the order of their
/// servers.
struct row_order {
    std::string_view by;
    bool rising = false;  ///< the smallest first
    std::size_t most = std::numeric_limits<std::size_t>::max();
};

/// The lists as one: {member: rows, each with its `node`; "nodes": [{"node", and the other members of its answer}];
/// "unreachable_nodes": names}. Where the lists come in parts, `total` and `next` are of all together.
json::object one_list_of(std::vector<node_list> lists, std::string_view member, const row_order& order);

/// The servers of a cluster whose administration this one shows and passes on, by a name of the request's: that of a
/// server, or "*" for all. Callers have to be administrators. Throws http_refusal, also where a name is no member's.
struct admin_nodes {
    std::string node;                   ///< this server
    member_gateway* members = nullptr;  ///< null: this server is alone

    bool includes_own(std::string_view name) const { return name == node || name == "*"; }

    /// The answers of other servers to a GET, within a second.
    awaitable<std::vector<node_list>> lists_of_others(const http_request& request, std::string name) const;

    /// The answer of another server to a change.
    awaitable<http_reply> change_at(const http_request& request, std::string name) const;

private:
    std::vector<std::string> others_named(const std::string& name) const;
    awaitable<std::vector<member_answer>> ask(const http_request& request, std::string name,
                                              std::chrono::milliseconds patience) const;
};

}  // namespace cmcp
