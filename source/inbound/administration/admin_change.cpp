#include "administration/admin_change.hpp"

#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "mcp/arguments/lenient_arguments.hpp"

#include <utility>

namespace cmcp {

http_reply uncached_reply(const json::object& body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

std::string last_part_of_path(const http_request& request)
{
    return percent_decoded(std::string_view(request.path).substr(request.path.rfind('/') + 1));
}

void note_admin_change(exchange& x, std::string_view event, const std::string& what)
{
    auto& request = x.request();
    request.concerns = what;
    log::info(event, {{"request", request.id}, {"by", log::unless_empty(request.principal)}, {"of", what}});
}

route_operation admin_operation(std::string path, std::string_view id, std::string_view summary,
                                std::string_view member, json::object takes)
{
    route_operation operation;
    operation.path = std::move(path);
    if (operation.path.ends_with("/*")) {
        operation.path.replace(operation.path.size() - 1, 1, "{id}");
        operation.parameters.push_back(
            json::object{{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    operation.id = id;
    operation.summary = summary;
    operation.tag = "administration";
    if (!takes.empty()) {
        operation.example = example_arguments(takes, {});
        operation.takes["application/json"] = std::move(takes);
    }
    operation.gives["application/json"] =
        json::object{{"type", "object"}, {"required", json::array{json::value(member)}}};
    operation.gives_what = summary;
    return operation;
}

}  // namespace cmcp
