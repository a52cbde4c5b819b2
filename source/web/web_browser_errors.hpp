#pragma once

#include "egress/egress_ticket.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Why the browser could not load `url`: the guard's own sentence where it refused, else what "net::ERR_…" means.
std::string navigation_sentence(std::string_view error, const std::string& url, const std::string& host,
                                const egress_ticket& ticket);

/// Why the page that is shown is the guard's own answer in place of it; empty: it is not.
std::string refusal_of_page(const egress_ticket& ticket, const std::string& url, int status);

/// What the server's own error answer is called. Its page is in the content all the same.
std::string http_sentence(const std::string& url, int status);

/// The refusals other than `told`, a sentence each, without repetitions.
std::vector<std::string> refusal_notes(const egress_ticket& ticket, const std::string& told);

}  // namespace cmcp
