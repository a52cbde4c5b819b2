#include "transport/openapi.hpp"

#include "http/refusal.hpp"

#include <string>

namespace cmcp {

namespace {

json::object media(std::string_view type, json::object schema)
{
    json::object with;
    with["schema"] = std::move(schema);
    json::object made;
    made[type] = std::move(with);
    return made;
}

json::object response(std::string_view description, json::object content)
{
    json::object made;
    made["description"] = description;
    if (!content.empty()) made["content"] = std::move(content);
    return made;
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
    json::object made{{"type", "object"}, {"required", json::array{"error", "error_type"}}};
    made["properties"] = json::object{{"error", {{"type", "string"}, {"description", "What is wrong and what to do"}}}};
    made["properties"].as_object()["error_type"] = std::move(type);
    return made;
}

json::object refused(std::string_view description)
{
    return response(description, media("application/json", {{"$ref", "#/components/schemas/Error"}}));
}

json::object responses(json::object good, std::string_view good_description)
{
    json::object made;
    made["200"] = response(good_description, std::move(good));
    made["4XX"] = refused("Refused; the sentence says what to do");
    made["5XX"] = refused("The server cannot do it now, or failed");
    return made;
}

json::object described_parameter(std::string_view name, std::string_view description, bool required)
{
    json::object made;
    made["name"] = name;
    made["in"] = "query";
    made["required"] = required;
    made["description"] = description;
    made["schema"] = json::object{{"type", "string"}};
    return made;
}

json::array file_parameters()
{
    json::array made;
    made.push_back(described_parameter("sandbox_id", "Handle of the sandbox (or sandbox_name)", false));
    made.push_back(described_parameter("sandbox_name", "Name of the sandbox (or sandbox_id)", false));
    made.push_back(described_parameter("file_path",
                                       "Path of the file, relative to the working folder or beginning with it", true));
    return made;
}

json::object tool_operation(const tool_definition& of)
{
    json::object body;
    body["required"] = of.input_schema.contains("required");
    body["content"] = media("application/json", of.input_schema);
    auto answers =
        media("application/json", of.output_schema.empty() ? json::object{{"type", "object"}} : of.output_schema);
    answers["text/event-stream"] = json::object{{"schema",
                                                 {{"type", "string"},
                                                  {"description",
                                                   "event: stdout and event: stderr {text, offset} while it runs, "
                                                   "event: log {level, logger, data}, then event: result"}}}};
    json::object made;
    made["operationId"] = of.name;
    made["summary"] = of.title.empty() ? of.name : of.title;
    made["description"] = of.description;
    made["tags"] = json::array{of.name.starts_with("system_") ? "system"
                               : of.name.starts_with("file_") ? "files"
                               : of.name.starts_with("web_")  ? "web"
                               : of.name.starts_with("job_")  ? "jobs"
                                                              : "sandboxes"};
    made["requestBody"] = std::move(body);
    made["responses"] = responses(std::move(answers), "The result object");
    return made;
}

json::object file_paths()
{
    const json::object bytes{{"type", "string"}, {"format", "binary"}};
    json::object get;
    get["operationId"] = "download_file";
    get["summary"] = "Download a file of a sandbox; ranges are served";
    get["tags"] = json::array{"sandboxes"};
    get["parameters"] = file_parameters();
    get["responses"] = responses(media("application/octet-stream", bytes), "The bytes");
    json::object post;
    post["operationId"] = "upload_file";
    post["summary"] = "Upload a file to a sandbox: the body is the file, or a form with one";
    post["tags"] = json::array{"sandboxes"};
    post["parameters"] = file_parameters();
    json::object content = media("application/octet-stream", bytes);
    const json::object form{
        {"type", "object"},
        {"properties", {{"file", bytes}, {"sandbox_id", {{"type", "string"}}}, {"file_path", {{"type", "string"}}}}}};
    content["multipart/form-data"] = json::object{{"schema", form}};
    post["requestBody"] = json::object{{"required", true}, {"content", std::move(content)}};
    const json::object stored{
        {"type", "object"},
        {"properties",
         {{"success", {{"type", "boolean"}}}, {"path", {{"type", "string"}}}, {"size", {{"type", "integer"}}}}}};
    post["responses"] = responses(media("application/json", stored), "Stored");
    return {{"get", std::move(get)}, {"post", std::move(post)}};
}

}  // namespace

json::object openapi_of(const tool_registry& tools, std::string_view version)
{
    json::object paths;
    for (const auto& each : tools.all())
        paths["/mcp/tools/" + each->definition().name] = json::object{{"post", tool_operation(each->definition())}};
    if (tools.find("create_sandbox") != nullptr) paths["/sandbox/file"] = file_paths();
    json::object made;
    made["openapi"] = "3.1.0";
    made["info"] = json::object{
        {"title", "Container-MCP"}, {"version", version}, {"description", "Every MCP tool as a REST call."}};
    made["paths"] = std::move(paths);
    made["components"] = json::object{{"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}};
    made["components"].as_object()["schemas"] = json::object{{"Error", error_schema()}};
    made["security"] = json::array{json::object(), json::object{{"bearer", json::array()}}};
    return made;
}

}  // namespace cmcp
