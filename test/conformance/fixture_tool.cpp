#include "test/conformance/fixture_tool.hpp"

#include "test/conformance/samples.hpp"

namespace cmcp::fixture {

namespace {

class function_tool final : public tool {
public:
    function_tool(tool_definition definition, tool_function function)
        : definition_(std::move(definition)), function_(function)
    {
    }

    const tool_definition& definition() const override { return definition_; }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        return function_(context, std::move(arguments));
    }

private:
    tool_definition definition_;
    tool_function function_;
};

}  // namespace

std::unique_ptr<tool> make_tool(std::string name, std::string description, tool_function function,
                                std::string_view schema, task_use tasks)
{
    tool_definition definition;
    definition.name = std::move(name);
    definition.description = std::move(description);
    definition.input_schema = json::parse(schema.empty() ? R"({"type":"object","properties":{}})" : schema).as_object();
    definition.annotations = {true, false, true, false};
    definition.tasks = tasks;
    return std::make_unique<function_tool>(std::move(definition), function);
}

tool_result text_result(std::string text)
{
    tool_result result;
    result.content.push_back(text_block(std::move(text)));
    return result;
}

json::object text_block(std::string text)
{
    json::object block;
    block["type"] = "text";
    block["text"] = std::move(text);
    return block;
}

json::object image_block()
{
    json::object block;
    block["type"] = "image";
    block["data"] = sample_png;
    block["mimeType"] = "image/png";
    return block;
}

json::object resource_block(std::string uri, std::string mime_type, std::string text)
{
    json::object resource;
    resource["uri"] = std::move(uri);
    resource["mimeType"] = std::move(mime_type);
    resource["text"] = std::move(text);
    json::object block;
    block["type"] = "resource";
    block["resource"] = std::move(resource);
    return block;
}

json::object form_with(std::string_view name, std::string_view type)
{
    json::object property;
    property["type"] = type;
    json::object properties;
    properties[name] = std::move(property);
    json::array required;
    required.emplace_back(json::string(name));
    json::object schema;
    schema["type"] = "object";
    schema["properties"] = std::move(properties);
    schema["required"] = std::move(required);
    return schema;
}

}  // namespace cmcp::fixture
