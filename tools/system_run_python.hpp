#pragma once

#include "managers/python_manager.hpp"
#include "mcp/tool.hpp"

namespace cmcp {

/// Runs Python code in the sandbox.
class system_run_python final : public tool {
public:
    explicit system_run_python(python_manager& runs);     ///< `runs` must outlive this

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    python_manager& runs_;
    tool_definition definition_;
};

}  // namespace cmcp
