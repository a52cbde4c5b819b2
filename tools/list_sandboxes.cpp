#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"

namespace cmcp {

namespace {

tool_definition list_sandboxes_definition()
{
    tool_definition made;
    made.name = "list_sandboxes";
    made.title = "List sandboxes";
    made.description = "Your sandboxes, the oldest first. A stopped one starts again by itself when it is used.";
    made.input_schema = schema::input({});
    auto row = schema::object("",
                              {{"sandbox_id", schema::string("")},
                               {"name", schema::string("")},
                               {"status", schema::one_of("", {"running", "stopped"})},
                               {"image", schema::string("")},
                               {"created", schema::string("ISO 8601, UTC")},
                               {"last_used", schema::string("ISO 8601, UTC")},
                               {"disk_bytes", json::object{{"type", "integer"}}}},
                              {"sandbox_id", "name", "status", "image", "created", "last_used"});
    row["properties"].as_object()["packages"] = schema::array(
        "Installed ones",
        schema::object("", {{"name", schema::string("")}, {"version", schema::string("")}}, {"name", "version"}));
    made.output_schema = schema::output(
        {{"sandboxes", schema::array("", std::move(row))}, {"error", schema::string("")}}, {"sandboxes"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

class list_sandboxes final : public sandbox_tool {
public:
    explicit list_sandboxes(managers& all) : sandbox_tool(list_sandboxes_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object) override
    {
        tool_result made;
        json::array& rows = made.structured["sandboxes"].emplace_array();
        for (const auto& each : all_.sandboxes->list(context.who)) {
            auto row = sandbox_json(each);
            json::array& packages = row["packages"].emplace_array();
            for (const auto& [name, version] : all_.sandboxes->store().packages(each.id))
                packages.push_back(json::object{{"name", name}, {"version", version}});
            rows.push_back(std::move(row));
        }
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_list_sandboxes(managers& all) { return std::make_unique<list_sandboxes>(all); }

}  // namespace cmcp
