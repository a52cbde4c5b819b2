#include "mcp/client_capability.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <stdexcept>
#include <string>

namespace cmcp {

namespace {

json::object elicitation_needed(const json::object& params)
{
    const auto* mode = params.if_contains("mode");
    json::object form;
    if (mode && mode->is_string() && mode->get_string() == "url") form["url"] = json::object();
    return form;
}

json::object tasks_needed()
{
    json::object extensions;
    extensions[tasks_extension] = json::object();
    json::object capabilities;
    capabilities["extensions"] = std::move(extensions);
    return capabilities;
}

[[noreturn]] void refuse_for_lack_of(json::object needed, const std::string& sentence)
{
    json::object data;
    data["requiredCapabilities"] = std::move(needed);
    throw rpc_error(rpc_code::missing_client_capability, "Missing required client capability" + sentence,
                    json::value(std::move(data)));
}

}  // namespace

json::object capability_needed(std::string_view method, const json::object& params)
{
    json::object needed;
    if (method == "elicitation/create")
        needed["elicitation"] = elicitation_needed(params);
    else if (method == "sampling/createMessage")
        needed["sampling"] = json::object();
    else if (method == "roots/list")
        needed["roots"] = json::object();
    else
        throw std::logic_error("not a request to a client: " + std::string(method));
    return needed;
}

bool has_capability(const json::object& declared, const json::object& needed)
{
    for (const auto& member : needed) {
        const auto* declaration = declared.if_contains(member.key());
        if (!declaration || !declaration->is_object()) return false;
        if (!has_capability(declaration->get_object(), member.value().get_object())) return false;
    }
    return true;
}

bool supports_request(const caller& who, std::string_view method, const json::object& params)
{
    if (!has_capability(who.client_capabilities, capability_needed(method, params))) return false;
    if (method != "elicitation/create" || view_of(params, "mode") == "url") return true;
    const auto& modes = who.client_capabilities.at("elicitation").as_object();
    return modes.contains("form") || !modes.contains("url");
}

void require_capability(const caller& who, std::string_view method, const json::object& params)
{
    auto needed = capability_needed(method, params);
    if (has_capability(who.client_capabilities, needed)) return;
    const auto sentence = " " + json::serialize(needed) + ": this request needs " + std::string(method);
    refuse_for_lack_of(std::move(needed), sentence);
}

bool declares_tasks(const caller& who) { return has_capability(who.client_capabilities, tasks_needed()); }

void require_tasks_extension(const caller& who)
{
    if (declares_tasks(who)) return;
    refuse_for_lack_of(tasks_needed(), ": this request needs the extension " + std::string(tasks_extension));
}

}  // namespace cmcp
