#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_list_sandboxes(sandbox_manager& sandboxes, tool_context& context, no_input)
{
    tool_result result;
    json::array& rows = result.structured["sandboxes"].emplace_array();
    for (const auto& record : sandboxes.list(context.who)) {
        auto row = sandbox_json(record);
        json::array& packages = row["packages"].emplace_array();
        for (const auto& [name, version] : sandboxes.store().packages(record.id))
            packages.push_back(json::object{{"name", name}, {"version", version}});
        rows.push_back(std::move(row));
    }
    co_return result;
}

json::object list_sandboxes_output()
{
    auto package =
        schema::object("", {{"name", schema::string("")}, {"version", schema::string("")}}, {"name", "version"});
    auto row = schema::object("",
                              {{"sandbox_id", schema::string("")},
                               {"name", schema::string("")},
                               {"status", schema::one_of("", {"running", "stopped"})},
                               {"image", schema::string("")},
                               {"created", schema::string("ISO 8601, UTC")},
                               {"last_used", schema::string("ISO 8601, UTC")},
                               {"disk_bytes", schema::typed("integer", "")},
                               {"packages", schema::array("Installed ones", std::move(package))}},
                              {"sandbox_id", "name", "status", "image", "created", "last_used"});
    return schema::output({{"sandboxes", schema::array("", std::move(row))}, {"error", schema::string("")}},
                          {"sandboxes"});
}

}  // namespace

tool_owner make_list_sandboxes(sandbox_manager& sandboxes)
{
    return make_tool<no_input>(
        {.about = {.name = "list_sandboxes",
                   .title = "List sandboxes",
                   .description = "Your sandboxes, the oldest first. A stopped one starts again by itself when it is "
                                  "used.",
                   .output_schema = list_sandboxes_output(),
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
         .input = {},
         .process = std::bind_front(process_list_sandboxes, std::ref(sandboxes))});
}

}  // namespace cmcp
