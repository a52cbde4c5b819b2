#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct snapshot_input : sandbox_input {
    std::string action;
    std::string name;
};

awaitable<tool_result> process_snapshot(sandbox_manager& sandboxes, tool_context& context, snapshot_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    tool_result result;
    result.structured["success"] = true;
    if (input.action == "delete") {
        co_await sandboxes.remove_snapshot(context.who, where.id, std::move(input.name));
    } else if (input.action != "list") {
        const auto snapshot = co_await sandboxes.snapshot(context.who, where.id, std::move(input.name));
        result.structured["snapshot_id"] = snapshot.id;
        result.structured["name"] = snapshot.name;
    }
    json::array& rows = result.structured["snapshots"].emplace_array();
    for (const auto& snapshot : sandboxes.snapshots(context.who, where.id))
        rows.push_back(json::object{{"snapshot_id", snapshot.id},
                                    {"name", snapshot.name},
                                    {"created", time_text(snapshot.created)},
                                    {"disk_bytes", snapshot.disk}});
    co_return result;
}

json::object snapshot_output()
{
    auto row = schema::object("",
                              {{"snapshot_id", schema::string("")},
                               {"name", schema::string("")},
                               {"created", schema::string("ISO 8601, UTC")},
                               {"disk_bytes", schema::typed("integer", "")}},
                              {"snapshot_id", "name", "created"});
    return schema::output({{"success", schema::boolean("Whether it worked")},
                           {"snapshot_id", schema::string("Handle of the new one")},
                           {"name", schema::string("Its name")},
                           {"snapshots", schema::array("All of the sandbox, the oldest first", std::move(row))},
                           {"error", schema::string("What went wrong and what to do")}},
                          {"success", "snapshots"});
}

}  // namespace

tool_owner make_snapshot_sandbox(sandbox_manager& sandboxes)
{
    using input = snapshot_input;
    return make_tool<input>(
        {.about = {.name = "snapshot_sandbox",
                   .title = "Keep a copy of a sandbox's files",
                   .description = "Keeps the files and packages of a sandbox of yours as they are now; "
                                  "restore_sandbox goes back to them. Also lists and removes what was kept.",
                   .output_schema = snapshot_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {sandbox_id_field(),
                   {"action", &input::action, "create when left out", rule::one_of({"create", "list", "delete"})},
                   {"name", &input::name, "Name of the snapshot; made up by create when left out"}},
         .process = std::bind_front(process_snapshot, std::ref(sandboxes))});
}

}  // namespace cmcp
