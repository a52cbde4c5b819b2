#pragma once

#include "mcp/tool.hpp"
#include "web/web_searcher.hpp"

namespace cmcp {

/// Searches the web.
class web_search final : public tool {
public:
    explicit web_search(web_searcher& engine);  ///< `engine` must outlive this

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;
    std::string obstacle() const override { return engine_.obstacle(); }

private:
    web_searcher& engine_;
    tool_definition definition_;
};

}  // namespace cmcp
