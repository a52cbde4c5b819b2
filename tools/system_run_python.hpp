#pragma once

#include "runs/missing_module.hpp"
#include "runs/python_manager.hpp"
#include "tools/sandbox_tool.hpp"

namespace cmcp {

/// Runs Python code in the sandbox.
class system_run_python final : public sandbox_run_tool {
public:
    /// `runs` and `jobs` must outlive this; `jobs` null: no runs in the background.
    system_run_python(python_manager& runs, job_manager* jobs);

private:
    new_job describe(const caller& who, const json::object& arguments) override;
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override;

    python_manager& runs_;
    module_source modules_;
};

}  // namespace cmcp
