#pragma once

#include "runs/bash_manager.hpp"
#include "tools/sandbox_tool.hpp"

namespace cmcp {

/// Runs a shell command in the sandbox.
class system_run_command final : public sandbox_run_tool {
public:
    /// `runs` and `jobs` must outlive this; `jobs` null: no runs in the background.
    system_run_command(bash_manager& runs, job_manager* jobs);

private:
    new_job describe(const caller& who, const json::object& arguments) override;
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override;

    bash_manager& runs_;
};

}  // namespace cmcp
