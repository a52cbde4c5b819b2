#pragma once

#include "managers/bash_manager.hpp"
#include "mcp/tool.hpp"

namespace cmcp {

/// Runs a shell command in the sandbox.
class system_run_command final : public tool {
public:
    explicit system_run_command(bash_manager& runs);     ///< `runs` must outlive this

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    bash_manager& runs_;
    tool_definition definition_;
};

}  // namespace cmcp
