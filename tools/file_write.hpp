#pragma once

#include "files/file_manager.hpp"
#include "mcp/tool.hpp"

namespace cmcp {

class file_write final : public tool {
public:
    explicit file_write(file_manager& files);  ///< `files` must outlive the tool

    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override;

private:
    file_manager& files_;
    tool_definition definition_;
};

}  // namespace cmcp
