#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

namespace cmcp::fixture {

namespace {

json::object argument(std::string_view name, std::string_view description)
{
    json::object described;
    described["name"] = name;
    described["description"] = description;
    described["required"] = true;
    return described;
}

json::object message(json::object content)
{
    json::object said;
    said["role"] = "user";
    said["content"] = std::move(content);
    return said;
}

std::string text_of(const json::object& arguments, std::string_view name)
{
    return std::string(arguments.at(name).as_string());
}

using prompt_function = json::array (*)(const json::object& arguments);

json::array simple(const json::object&)
{
    json::array messages;
    messages.push_back(message(text_block("This is a simple prompt for testing.")));
    return messages;
}

json::array with_arguments(const json::object& arguments)
{
    json::array messages;
    messages.push_back(message(text_block("Prompt with arguments: arg1='" + text_of(arguments, "arg1") + "', arg2='" +
                                          text_of(arguments, "arg2") + "'")));
    return messages;
}

json::array with_resource(const json::object& arguments)
{
    json::array messages;
    messages.push_back(message(
        resource_block(text_of(arguments, "resourceUri"), "text/plain", "Embedded resource content for testing.")));
    messages.push_back(message(text_block("Please process the embedded resource above.")));
    return messages;
}

json::array with_image(const json::object&)
{
    json::array messages;
    messages.push_back(message(image_block()));
    messages.push_back(message(text_block("Please analyze the image above.")));
    return messages;
}

class function_prompt final : public prompt {
public:
    function_prompt(std::string name, std::string description, json::array arguments, prompt_function function)
        : name_(std::move(name)),
          description_(std::move(description)),
          arguments_(std::move(arguments)),
          function_(function)
    {
    }

    json::object definition() const override
    {
        json::object described;
        described["name"] = name_;
        described["description"] = description_;
        if (!arguments_.empty()) described["arguments"] = arguments_;
        return described;
    }

    awaitable<json::object> get(tool_context&, json::object arguments) override
    {
        json::object result;
        result["description"] = description_;
        result["messages"] = function_(arguments);
        co_return result;
    }

    json::array complete(std::string argument, std::string prefix) const override
    {
        json::array values;
        for (const std::string_view value : {"paris", "park", "party"})
            if (argument == "arg1" && value.starts_with(prefix)) values.emplace_back(value);
        return values;
    }

private:
    std::string name_;
    std::string description_;
    json::array arguments_;
    prompt_function function_;
};

void add(server_core& core, std::string name, std::string description, json::array arguments, prompt_function function)
{
    core.add_prompt(
        std::make_unique<function_prompt>(std::move(name), std::move(description), std::move(arguments), function));
}

}  // namespace

void add_prompts(server_core& core)
{
    json::array two;
    two.push_back(argument("arg1", "First test argument"));
    two.push_back(argument("arg2", "Second test argument"));
    json::array uri;
    uri.push_back(argument("resourceUri", "URI of the resource to embed"));
    add(core, "test_simple_prompt", "A simple prompt without arguments", {}, simple);
    add(core, "test_prompt_with_arguments", "A prompt with two arguments", std::move(two), with_arguments);
    add(core, "test_prompt_with_embedded_resource", "A prompt that embeds a resource", std::move(uri), with_resource);
    add(core, "test_prompt_with_image", "A prompt that shows an image", {}, with_image);
}

}  // namespace cmcp::fixture
