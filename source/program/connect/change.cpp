#include "connect/change.hpp"

#include "connect/json_text.hpp"
#include "connect/toml_text.hpp"
#include "connect/yaml_text.hpp"

#include <algorithm>

namespace cmcp::connect {

namespace {

bool is_managed(std::string_view member)
{
    return std::ranges::find(managed_members(), member) != managed_members().end();
}

// The user's own members of an entry that is there (a timeout, trust) go on.
json::object with_own_members(json::object fresh, const std::optional<json::value>& old)
{
    const auto* before = old ? old->if_object() : nullptr;
    if (before == nullptr) return fresh;
    for (const auto& [name, value] : *before)
        if (!is_managed(name)) fresh[name] = value;
    return fresh;
}

// opencode 2 may have its servers in a member of their own, and reads the older form as well.
json_text::path where_in(const json_text& text, const client& of, const std::string& name)
{
    json_text::path servers{std::string(of.servers)};
    if (of.servers == "mcp") {
        const auto nested = text.find({"mcp", "servers"});
        const auto* object = nested ? nested->if_object() : nullptr;
        if (object != nullptr && !object->contains("type")) servers.emplace_back("servers");
    }
    servers.push_back(name);
    return servers;
}

}  // namespace

std::string changed_text(const client& of, const std::string& text, const std::string& name,
                         const std::optional<server_entry>& server)
{
    if (of.written == client::form::toml) {
        toml_text edited(text);
        const toml_text::path table{std::string(of.servers), name};
        server ? edited.set(table, of.entry(*server), managed_members()) : (void)edited.remove(table);
        return edited.text();
    }
    if (!server && text.empty()) return text;
    if (of.written == client::form::yaml) {
        yaml_text edited(text, std::string(of.servers));
        auto entry = server ? of.entry(*server) : json::object();
        entry["name"] = name;
        server ? edited.set(name, entry, managed_members()) : (void)edited.remove(name);
        return edited.text();
    }
    json_text edited(text, of.written == client::form::json_with_comments);
    const auto where = where_in(edited, of, name);
    if (!server)
        edited.remove(where);
    else
        edited.set(where, with_own_members(of.entry(*server), edited.find(where)));
    return edited.text();
}

}  // namespace cmcp::connect
