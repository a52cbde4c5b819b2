#pragma once

#include "mcp/tool.hpp"
#include "web/web_browser.hpp"

namespace cmcp {

/// web_browse: a page as a browser shows it, after its scripts have run and some things were done on it.
class web_browse final : public tool {
public:
    explicit web_browse(web_browser& browser);

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;
    std::string obstacle() const override { return browser_.obstacle(); }

private:
    web_browser& browser_;
    tool_definition definition_;
};

}  // namespace cmcp
