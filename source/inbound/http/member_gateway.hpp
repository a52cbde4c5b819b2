#pragma once

#include "http/exchange.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace cmcp {

/// A request without a body for other members, for the caller of a request that this server has.
struct member_question {
    std::vector<std::string> nodes;
    std::string method;
    std::string target;  ///< path and query
    std::chrono::milliseconds patience;
};

struct member_answer {
    std::string node;
    int status = 0;  ///< 0: the member has not answered
    std::string body;
};

/// The other servers of a cluster, as connections see them. An interface, because connections ask it about each request
/// before a route is called, and the cluster is a district above this one.
class member_gateway {
public:
    virtual ~member_gateway() = default;

    /// Whether the request names by its handle what another member has.
    virtual bool is_elsewhere(const http_request& request) const = 0;

    /// Answers such a request with that member's answer, or says why there is none. False: it is this server's now, and
    /// nothing of it has been read.
    virtual awaitable<bool> pass_on(exchange& x) = 0;

    /// Tells another server that asks that nothing of its request was done here, because this one ends.
    virtual awaitable<> turn_away(exchange& x) = 0;

    /// Whether another server of this name is registered, or was since this one began: one that comes back may ask
    /// before this one has heard of it.
    virtual bool is_member(std::string_view name) const = 0;

    /// The names of the other members, also of those that are lost.
    virtual std::vector<std::string> others() const = 0;

    /// The answers of all the nodes, which are asked at once; those that are no members have none.
    virtual awaitable<std::vector<member_answer>> ask(const http_request& by, member_question question) = 0;
};

}  // namespace cmcp
