#pragma once

#include "mcp/tool.hpp"
#include "web/web_scraper.hpp"

namespace cmcp {

/// Fetches a page and gives its text.
class web_scrape final : public tool {
public:
    explicit web_scrape(web_scraper& pages);  ///< `pages` must outlive this

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    web_scraper& pages_;
    tool_definition definition_;
};

}  // namespace cmcp
