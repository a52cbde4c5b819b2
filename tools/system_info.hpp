#pragma once

#include "app/managers.hpp"
#include "config/settings.hpp"
#include "mcp/tool.hpp"

#include <string>

namespace cmcp {

/// Says what this server is: versions, limits, the layers of the sandbox that are on, the programs that may run.
class system_info final : public tool {
public:
    system_info(managers& all, const settings& chosen);  ///< both must outlive this

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    awaitable<> find_versions(const caller& who);
    json::object limits() const;

    managers& all_;
    const settings& chosen_;
    tool_definition definition_;
    std::string bash_version_;  // as the sandbox has it; empty until it was asked
    std::string python_version_;
};

}  // namespace cmcp
