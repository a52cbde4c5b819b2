#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"
#include "preview/preview_names.hpp"
#include "preview/relayed_header.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// A client's request for a shown port. Pure.
struct preview_request {
    preview_view view;                ///< with port 0 below a path, where the token tells it
    std::vector<std::string> tokens;  ///< that it brings
    preview_label label;              ///< where the origin is the port's own
    std::string target;               ///< path and query, as the program gets them
    bool brings_parameter = false;    ///< the token is in the query
    bool lacks_slash = false;         ///< relative addresses of the page would lose the token
};

/// Nothing: the Host is no shown port's. `server`: how clients reach this server, without a slash at the end.
std::optional<preview_request> read_preview_request(const http_request& request, std::string_view domain,
                                                    std::string_view server);

/// The answer to a request that is not for the program: of a strange page or a service worker, a preflight, a first
/// visit with the token in the address. Nothing: the request goes on.
std::optional<http_reply> answer_before(const http_request& request, const preview_request& wanted);

/// The first visit: keeps the token in a cookie and leads to the same page without it. `life`: seconds.
http_reply lead_to_page(const preview_request& wanted, std::string_view token, long life);

/// A refusal as a page for browsers, as JSON for others.
http_reply preview_problem(const http_request& request, int status, const std::string& sentence);

}  // namespace cmcp
