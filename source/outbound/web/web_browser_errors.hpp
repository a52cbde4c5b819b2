#pragma once

#include "egress/egress_ticket.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Why the browser could not load `url`: the guard's own sentence where it refused, else the meaning of "net::ERR_…".
std::string navigation_sentence(std::string_view error, const std::string& url, const std::string& host,
                                const egress_ticket& ticket);

/// Why the page that is shown is the guard's own answer instead of it; empty: it is not.
std::string refusal_of_page(const egress_ticket& ticket, const std::string& url, int status);

/// Why the guard did not let a request of the page through; empty: it did.
std::string refusal_of_request(const egress_ticket& ticket, const std::string& url, int status);

/// A sentence for an error status of the server, whose page is in the content all the same.
std::string http_sentence(const std::string& url, int status);

/// The refusals other than `known`, a sentence each, without repetitions.
std::vector<std::string> refusal_notes(const egress_ticket& ticket, const std::string& known);

}  // namespace cmcp
