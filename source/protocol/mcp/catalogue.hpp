#pragma once

#include "mcp/call_history.hpp"
#include "mcp/definitions.hpp"
#include "mcp/idempotent_calls.hpp"
#include "mcp/other_nodes.hpp"
#include "mcp/prompt.hpp"
#include "mcp/resource_provider.hpp"
#include "mcp/result_budget.hpp"
#include "mcp/server_core.hpp"
#include "mcp/tool_registry.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class blocking_pool;

/// All that the server offers.
struct catalogue {
    server_identity identity;
    tool_registry tools;
    std::function<std::string(const caller&)> instruct;  ///< null: the identity's instructions, for everyone
    std::vector<std::unique_ptr<resource_provider>> providers;
    std::vector<std::unique_ptr<prompt>> prompts;
    call_beginning begin_call;  ///< as in core_limits
    call_end end_call;
    result_limits results;
    result_format format = result_format::automatic;
    std::unique_ptr<result_keeper> keeper;  ///< null: what results have no room for is lost
    call_history history;
    idempotent_calls named_calls;
    std::weak_ptr<blocking_pool> pool;  ///< as in core_limits
    other_nodes* nodes = nullptr;       ///< outlives this; null: this server is alone

    std::string instructions_for(const caller& who) const { return instruct ? instruct(who) : identity.instructions; }

    prompt* find_prompt(std::string_view name) const;

    /// As resource_provider::observe, of whichever provider has the resource.
    std::shared_ptr<void> observe(const caller& who, const std::string& uri,
                                  const std::function<void()>& changed) const;
};

/// The `ServerCapabilities` of a revision: prompts, completions and resources only where there are any.
json::object capabilities_of(const catalogue& offered, revision protocol);

/// Whether any tool may be answered with a task.
bool offers_tasks(const catalogue& offered);

/// The `Implementation` object of a revision.
json::object describe_server(const server_identity& identity, revision protocol, const json::storage_ptr& memory = {});

/// Whether the methods of a group ("tools", "prompts", "resources", "completion", "tasks") are served.
bool offers(const catalogue& offered, std::string_view method);

}  // namespace cmcp
