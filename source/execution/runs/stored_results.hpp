#pragma once

#include "mcp/result_budget.hpp"
#include "runs/output_collector.hpp"

#include <filesystem>
#include <functional>
#include <utility>

namespace cmcp {

/// Keeps what results have no room for beside the long outputs of runs.
class stored_results final : public result_keeper {
public:
    /// The folder of the files of the sandbox that the caller means without naming one.
    using found_files = std::function<awaitable<std::filesystem::path>(caller who)>;

    /// `outputs` must outlive this.
    stored_results(output_store& outputs, found_files find) : outputs_(outputs), find_(std::move(find)) {}

    awaitable<std::string> keep(caller who, std::string text) override;

private:
    output_store& outputs_;
    found_files find_;
};

}  // namespace cmcp
