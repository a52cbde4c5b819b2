#include "mcp/tasks_extension.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/client_capability.hpp"

namespace cmcp {

namespace {

json::object needed()
{
    json::object extensions;
    extensions[tasks_extension] = json::object();
    json::object capabilities;
    capabilities["extensions"] = std::move(extensions);
    return capabilities;
}

}  // namespace

bool declares_tasks(const caller& who) { return has_capability(who.client_capabilities, needed()); }

void require_tasks_extension(const caller& who)
{
    if (declares_tasks(who)) return;
    json::object data;
    data["requiredCapabilities"] = needed();
    const std::string sentence =
        "Missing required client capability: this request needs the extension " + std::string(tasks_extension);
    throw rpc_error(rpc_code::missing_client_capability, sentence, json::value(std::move(data)));
}

}  // namespace cmcp
