#include "mcp/tool.hpp"

namespace cmcp {

tool_result tool_failure(std::string sentence)
{
    tool_result failed;
    failed.structured["success"] = false;
    failed.structured["error"] = sentence;
    failed.is_error = true;
    return failed;
}

}  // namespace cmcp
