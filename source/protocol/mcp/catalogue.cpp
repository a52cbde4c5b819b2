#include "mcp/catalogue.hpp"

#include "mcp/client_capability.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace cmcp {

namespace {

json::object with_flag(std::string_view name)
{
    json::object capability;
    capability[name] = true;
    return capability;
}

}  // namespace

prompt* catalogue::find_prompt(std::string_view name) const
{
    for (const auto& item : prompts) {
        const auto definition = item->definition();
        if (definition.at("name").as_string() == name) return item.get();
    }
    return nullptr;
}

std::shared_ptr<void> catalogue::observe(const caller& who, const std::string& uri,
                                         const std::function<void()>& changed) const
{
    const auto node = nodes == nullptr ? std::string() : node_of_resource(who, uri, *nodes);
    if (!node.empty())
        return nodes->observe(who, node, {resource_updated, uri}, [changed](json::object) { changed(); });
    for (const auto& provider : providers)
        if (auto observer = provider->observe(who, uri, changed)) return observer;
    return nullptr;
}

json::object capabilities_of(const catalogue& offered, revision protocol)
{
    json::object capabilities;
    capabilities["tools"] = with_flag("listChanged");
    if (!offered.prompts.empty()) capabilities["prompts"] = with_flag("listChanged");
    if (!offered.providers.empty()) capabilities["resources"] = with_flag("subscribe");
    capabilities["logging"] = json::object();
    if (!offered.prompts.empty() && protocol >= revision::v2025_03_26) capabilities["completions"] = json::object();
    if (is_modern(protocol) && offers_tasks(offered)) {
        json::object extensions;
        extensions[tasks_extension] = json::object();
        capabilities["extensions"] = std::move(extensions);
    }
    return capabilities;
}

bool offers_tasks(const catalogue& offered)
{
    const auto& tools = offered.tools.all();
    return std::any_of(tools.begin(), tools.end(),
                       [](const auto& item) { return item->definition().tasks != task_use::never; });
}

json::object describe_server(const server_identity& identity, revision protocol, const json::storage_ptr& memory)
{
    json::object described(memory);
    described["name"] = identity.name;
    if (protocol >= revision::v2025_06_18 && !identity.title.empty()) described["title"] = identity.title;
    described["version"] = identity.version;
    return described;
}

bool offers(const catalogue& offered, std::string_view method)
{
    const auto group = method.substr(0, method.find('/'));
    if (group == "prompts" || group == "completion") return !offered.prompts.empty();
    if (group == "tasks") return offers_tasks(offered);
    if (group == "resources") return !offered.providers.empty();
    return true;
}

}  // namespace cmcp
