#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition snapshot_sandbox_definition()
{
    tool_definition made;
    made.name = "snapshot_sandbox";
    made.title = "Keep a copy of a sandbox's files";
    made.description =
        "Keeps the files and packages of a sandbox of yours as they are now; restore_sandbox goes back to them. Also "
        "lists and removes "
        "what was kept.";
    made.input_schema =
        schema::input({{"sandbox_id", sandbox_id_schema()},
                       {"action", schema::one_of("create when left out", {"create", "list", "delete"})},
                       {"name", schema::string("Name of the snapshot; made up by create when left out")}},
                      {"sandbox_id"});
    auto row = schema::object("",
                              {{"snapshot_id", schema::string("")},
                               {"name", schema::string("")},
                               {"created", schema::string("ISO 8601, UTC")},
                               {"disk_bytes", json::object{{"type", "integer"}}}},
                              {"snapshot_id", "name", "created"});
    made.output_schema =
        schema::output({{"success", schema::boolean("Whether it worked")},
                        {"snapshot_id", schema::string("Handle of the new one")},
                        {"name", schema::string("Its name")},
                        {"snapshots", schema::array("All of the sandbox, the oldest first", std::move(row))},
                        {"error", schema::string("What went wrong and what to do")}},
                       {"success", "snapshots"});
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

class snapshot_sandbox final : public sandbox_tool {
public:
    explicit snapshot_sandbox(managers& all) : sandbox_tool(snapshot_sandbox_definition()), all_(all) {}

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        const auto where = all_.sandboxes->find(context.who, read_string(arguments, "sandbox_id"));
        const auto action = read_string(arguments, "action");
        const auto name = read_string(arguments, "name");
        tool_result made;
        made.structured["success"] = true;
        if (action == "delete") {
            co_await all_.sandboxes->remove_snapshot(context.who, where.id, name);
        } else if (action != "list") {
            const auto kept = co_await all_.sandboxes->snapshot(context.who, where.id, name);
            made.structured["snapshot_id"] = kept.id;
            made.structured["name"] = kept.name;
        }
        json::array& rows = made.structured["snapshots"].emplace_array();
        for (const auto& each : all_.sandboxes->snapshots(context.who, where.id))
            rows.push_back(json::object{{"snapshot_id", each.id},
                                        {"name", each.name},
                                        {"created", time_text(each.created)},
                                        {"disk_bytes", each.disk}});
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_snapshot_sandbox(managers& all) { return std::make_unique<snapshot_sandbox>(all); }

}  // namespace cmcp
