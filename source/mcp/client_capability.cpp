#include "mcp/client_capability.hpp"

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
        throw std::logic_error("not a question to a client: " + std::string(method));
    return needed;
}

bool has_capability(const json::object& declared, const json::object& needed)
{
    for (const auto& member : needed) {
        const auto* found = declared.if_contains(member.key());
        if (!found || !found->is_object()) return false;
        if (!has_capability(found->get_object(), member.value().get_object())) return false;
    }
    return true;
}

}  // namespace cmcp
