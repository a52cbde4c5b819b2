#pragma once

#include "config/settings.hpp"
#include "mcp/tool.hpp"

#include <map>
#include <string>

namespace cmcp {

/// Shows the non-secret settings and the variables that a sandbox sees; never the server's own environment.
class system_env_var final : public tool {
public:
    explicit system_env_var(const settings& chosen);

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    std::map<std::string, std::string> variables_;
    tool_definition definition_;
};

}  // namespace cmcp
