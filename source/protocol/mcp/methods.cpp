#include "mcp/methods.hpp"

#include "jsonrpc/rpc_error.hpp"

#include <array>

namespace cmcp {

namespace {

struct method_row {
    std::string_view name;
    method_function function;
};

constexpr std::array<method_row, 8> method_table{{
    {"tools/list", list_tools},
    {"tools/call", call_tool},
    {"resources/list", list_resources},
    {"resources/templates/list", list_resource_templates},
    {"resources/read", read_resource},
    {"prompts/list", list_prompts},
    {"prompts/get", get_prompt},
    {"completion/complete", complete_argument},
}};

}  // namespace

method_function find_shared_method(std::string_view name)
{
    for (const auto& method_row : method_table)
        if (method_row.name == name) return method_row.function;
    return nullptr;
}

awaitable<json::object> finished(json::object result) { co_return result; }

void refuse_method(std::string_view name)
{
    throw rpc_error(rpc_code::method_not_found, "Method not found: " + std::string(name.substr(0, 200)));
}

}  // namespace cmcp
