#include "http/challenge.hpp"
#include "http/refusal.hpp"
#include "jsonrpc/write_json.hpp"
#include "prebuilt/version.hpp"
#include "rest/rest_routes.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "transport/profile_choice.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

namespace {

json::object content_of(const json::object& schemas)
{
    json::object content;
    for (const auto& [type, schema] : schemas) content[type] = json::object{{"schema", schema}};
    return content;
}

json::object response(std::string_view description, const json::object& schemas)
{
    return {{"description", description}, {"content", content_of(schemas)}};
}

json::object error_schema()
{
    json::object type;
    type["type"] = "string";
    std::string meanings;
    json::array& names = type["enum"].emplace_array();
    for (const auto& each : refusal_types) {
        names.emplace_back(each.name);
        meanings.append(each.name).append(" (").append(each.status).append("): ").append(each.meaning).append(".\n");
    }
    type["description"] = meanings;
    json::object schema{{"type", "object"}, {"required", json::array{"error", "error_type"}}};
    schema["properties"] =
        json::object{{"error", {{"type", "string"}, {"description", "What is wrong and what to do"}}}};
    schema["properties"].as_object()["error_type"] = std::move(type);
    schema["properties"].as_object()["request_id"] =
        json::object{{"type", "string"}, {"description", "The name of the request in the log"}};
    return schema;
}

json::object responses_of(const route_operation& operation)
{
    const json::object error{{"application/json", {{"$ref", "#/components/schemas/Error"}}}};
    json::object responses;
    responses["200"] = response(operation.gives_what, operation.gives);
    responses["4XX"] = response("Refused; the sentence says what to do", error);
    responses["5XX"] = response("The server cannot do it now, or failed", error);
    return responses;
}

json::object described(const route_operation& operation)
{
    json::object item;
    item["operationId"] = operation.id;
    item["summary"] = operation.summary;
    if (!operation.description.empty()) item["description"] = operation.description;
    item["tags"] = json::array{json::value(operation.tag)};
    if (!operation.parameters.empty()) item["parameters"] = operation.parameters;
    if (!operation.takes.empty()) {
        auto content = content_of(operation.takes);
        if (!operation.example.empty()) content[http_reply::json_type].as_object()["example"] = operation.example;
        item["requestBody"] = json::object{{"required", operation.body_required}, {"content", std::move(content)}};
    }
    item["responses"] = responses_of(operation);
    return item;
}

// A profile is named for a model: no model is to administer the server, and importers bound their number.
bool is_described(const route_operation& operation, bool tools_alone)
{
    return !tools_alone || operation.path.starts_with("/mcp/tools/");
}

json::object paths_of(const router& routes, const http_request& asked_by)
{
    const bool tools_alone = asked_by.filled_parameter("profile").has_value();
    json::object paths;
    for (const auto& entry : routes.all()) {
        if (!entry.operations) continue;
        for (const auto& operation : entry.operations(asked_by)) {
            if (!is_described(operation, tools_alone)) continue;
            auto& path = paths[operation.path];
            if (!path.is_object()) path.emplace_object();
            path.as_object()[lower_case(entry.methods.front())] = described(operation);
        }
    }
    return paths;
}

// The documents that were asked for last. One depends on the tools that are shown alone, and takes long to make.
class kept_documents {
public:
    struct document {
        std::string tools;  // that it is about
        std::string text, tag;
    };

    std::shared_ptr<const document> of(const http_request& asked_by, const router& routes, const tool_registry& tools)
    {
        const auto about = tools_shown(asked_by, tools);
        const auto known = std::ranges::find(documents_, about, [](const auto& each) { return each->tools; });
        if (known != documents_.end()) {
            std::rotate(documents_.begin(), known, known + 1);
            return documents_.front();
        }
        auto fresh = std::make_shared<document>();
        fresh->tools = about;
        fresh->text = jsonrpc::write_json(openapi_document(routes, asked_by));
        fresh->tag = '"' + sha256_hex(fresh->text).substr(0, 32) + '"';
        if (documents_.size() == most) documents_.pop_back();
        documents_.insert(documents_.begin(), fresh);
        return fresh;
    }

private:
    static constexpr std::size_t most = 16;

    static std::string tools_shown(const http_request& asked_by, const tool_registry& tools)
    {
        const caller who = caller_of(asked_by);
        std::string all =
            std::to_string(tools.changes()) + (asked_by.filled_parameter("profile") ? " tools:" : " all:");
        for (const auto* each : tools.listed(who)) all.append(each->definition().name).append(" ");
        return sha256_hex(all);
    }

    std::vector<std::shared_ptr<const document>> documents_;
};

awaitable<> serve_openapi(exchange& x, const router& routes, const tool_registry& tools, kept_documents& kept)
{
    if (auto unknown = refuse_profile(x.request(), tools)) return x.reply(std::move(*unknown));
    const auto document = kept.of(x.request(), routes, tools);
    http_reply reply;
    reply.with("Cache-Control", "no-cache").with("ETag", document->tag);
    if (x.request().header("if-none-match").value_or("") == document->tag)
        reply.status = 304;
    else
        reply.body = document->text;
    return x.reply(std::move(reply));
}

}  // namespace

json::object openapi_document(const router& routes, const http_request& asked_by)
{
    json::object document;
    document["openapi"] = "3.1.0";
    document["info"] = json::object{
        {"title", "Container-MCP"}, {"version", CMCP_VERSION}, {"description", "Every MCP tool as a REST call."}};
    document["paths"] = paths_of(routes, asked_by);
    document["components"] = json::object{{"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}};
    document["components"].as_object()["schemas"] = json::object{{"Error", error_schema()}};
    document["security"] = json::array{json::object(), json::object{{"bearer", json::array()}}};
    return document;
}

void add_openapi_route(router& routes, const tool_registry& tools)
{
    routes.add({.methods = {"GET", "HEAD"},
                .path = "/openapi.json",
                .serve = [&routes, &tools, kept = std::make_shared<kept_documents>()](
                             exchange& x) { return serve_openapi(x, routes, tools, *kept); },
                .by_browser = true});
}

}  // namespace cmcp
