#pragma once

#include "files/workspaces.hpp"
#include "mcp/result_budget.hpp"
#include "runs/output_collector.hpp"

namespace cmcp {

/// Keeps what results have no room for beside the long outputs of runs.
class stored_results final : public result_keeper {
public:
    /// All must outlive this.
    stored_results(output_store& outputs, const workspaces& places, blocking_pool& pool)
        : outputs_(outputs), places_(places), pool_(pool)
    {
    }

    awaitable<std::string> keep(caller who, std::string text) override;

private:
    output_store& outputs_;
    const workspaces& places_;
    blocking_pool& pool_;
};

}  // namespace cmcp
