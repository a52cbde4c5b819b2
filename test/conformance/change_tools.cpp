// Tools that change the lists of tools, prompts or resources, so that listeners are notified.
#include "test/conformance/fixture_tool.hpp"
#include "test/conformance/fixtures.hpp"

namespace cmcp::fixture {

namespace {

constexpr std::string_view dynamic_name = "test_dynamic_tool";

awaitable<tool_result> dynamic(tool_context&, json::object) { co_return text_result("here for now"); }

tool_definition definition_of(std::string name, std::string description)
{
    tool_definition definition;
    definition.name = std::move(name);
    definition.description = std::move(description);
    definition.input_schema = json::parse(R"({"type":"object","properties":{}})").as_object();
    return definition;
}

class tool_change final : public tool {
public:
    explicit tool_change(server_core& core)
        : core_(core), definition_(definition_of("test_trigger_tool_change", "Adds a tool and takes it away"))
    {
    }

    const tool_definition& definition() const override { return definition_; }

    awaitable<tool_result> call(tool_context&, json::object) override
    {
        auto& tools = core_.tools();
        tools.add(make_tool(std::string(dynamic_name), "Comes and goes", dynamic));
        tools.remove(dynamic_name);  // the servers of a cluster have the same tools
        co_return text_result("The list of tools has changed");
    }

private:
    server_core& core_;
    tool_definition definition_;
};

class prompt_change final : public tool {
public:
    explicit prompt_change(server_core& core)
        : core_(core), definition_(definition_of("test_trigger_prompt_change", "Says that the prompts have changed"))
    {
    }

    const tool_definition& definition() const override { return definition_; }

    awaitable<tool_result> call(tool_context&, json::object) override
    {
        core_.prompts_changed();
        co_return text_result("The list of prompts has changed");
    }

private:
    server_core& core_;
    tool_definition definition_;
};

}  // namespace

void add_change_tools(server_core& core)
{
    core.tools().add(std::make_unique<tool_change>(core));
    core.tools().add(std::make_unique<prompt_change>(core));
}

}  // namespace cmcp::fixture
