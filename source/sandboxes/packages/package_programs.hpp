#pragma once

#include "async/asio.hpp"
#include "egress/egress_ticket.hpp"
#include "runs/runner.hpp"
#include "sandbox/backend.hpp"

#include <deque>
#include <string>
#include <vector>

namespace cmcp {

enum class package_kind { pip, npm };

/// Where packages come from.
struct package_origin {
    std::string index;               ///< http or https URL; empty: not known
    std::vector<std::string> hosts;  ///< further hosts that the index sends to
};

/// The index that pip or npm themselves use where no setting names another. They are asked in the sandbox that `base`
/// describes, which needs no network. Unknown where the program is not installed.
awaitable<package_origin> default_package_origin(sandbox::backend& backend, sandbox::run_request base,
                                                 package_kind kind);

/// The last lines of what a failed installation printed, which tell why: no frames of Python's tracebacks, and a
/// bounded number.
std::string telling_end(std::string_view printed);

/// Why an installation failed and what to do, from what pip or npm printed and what the guard refused; empty: it
/// worked. `longest`: see ending_sentence().
std::string package_problem(const run_outcome& run, package_kind kind, const std::deque<egress_refusal>& refusals,
                            const std::string& index, std::string_view longest);

}  // namespace cmcp
