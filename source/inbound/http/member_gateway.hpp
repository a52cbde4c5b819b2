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

/// The other servers of a cluster, as connections see them.
class member_gateway {
public:
    virtual ~member_gateway() = default;

    /// Whether the request names by its handle what another member has.
    virtual bool is_elsewhere(const http_request& request) const = 0;

    /// Answers such a request with that member's answer, or says why there is none. False: it is this server's now, and
    /// nothing of it has been read.
    virtual awaitable<bool> pass_on(exchange& x) = 0;

    /// The names of the other members.
    virtual std::vector<std::string> others() const = 0;

    /// The answers of all the nodes, which are asked at once; those that are no members have none.
    virtual awaitable<std::vector<member_answer>> ask(const http_request& by, member_question question) = 0;
};

}  // namespace cmcp
