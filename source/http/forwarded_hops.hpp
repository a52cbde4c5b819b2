#pragma once

#include "http/http_request.hpp"

#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The words of one proxy about the connection that it has passed on.
struct forwarded_hop {
    std::string client;  ///< an address, in v6 without brackets; empty: it does not tell
    std::string scheme;  ///< http or https; empty: it does not tell
    std::string host;    ///< as in Host; empty: it does not tell
};

/// In the order in which the proxies have been passed.
using forwarded_hops = std::vector<forwarded_hop>;

/// Of the fields Forwarded, or else X-Forwarded-For, -Proto and -Host. Nothing: they break the rules, or both kinds
/// come. None: no proxy tells anything.
std::optional<forwarded_hops> forwarded_hops_of(const http_request& request);

}  // namespace cmcp
