#pragma once

#include "async/blocking_pool.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/arguments/argument_rules.hpp"

#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// Arguments as they were sent and as the tool takes them.
struct fitted_arguments {
    json::object sent;
    json::object arguments;            ///< without those of `ignored`
    std::string misfit;                ///< why they are refused; empty: they are not
    std::vector<std::string> ignored;  ///< names that the tool does not know
};

/// Fits the arguments of a long message to a tool, on the pool. `validated`: the rules have been asked before.
awaitable<fitted_arguments> fit_on_pool(blocking_pool& pool, std::string payer,
                                        std::shared_ptr<const argument_rules> rules, json::object sent, bool validated);

/// The same before there is a request: the arguments as they are meant, and why they are refused.
awaitable<fitted_arguments> validate_on_pool(blocking_pool& pool, std::string payer,
                                             std::shared_ptr<const argument_rules> rules, json::object sent);

}  // namespace cmcp
