#include "mcp/prompt.hpp"

namespace cmcp {

json::array prompt::complete(std::string, std::string) const { return {}; }

}  // namespace cmcp
