#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

struct restore_input : sandbox_input {
    std::string snapshot;
};

awaitable<tool_result> process_restore(sandbox_manager& sandboxes, tool_context& context, restore_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    const auto snapshot = co_await sandboxes.restore(context.who, where.id, std::move(input.snapshot));
    tool_result result;
    result.structured["success"] = true;
    result.structured["sandbox_id"] = where.id;
    result.structured["snapshot_id"] = snapshot.id;
    co_return result;
}

}  // namespace

tool_owner make_restore_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<restore_input>(
        {.about = {.name = "restore_sandbox",
                   .title = "Go back to a snapshot",
                   .description = "Ends all that runs in a sandbox of yours and puts its files and packages back as a "
                                  "snapshot has them. What was made since is lost.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it worked")},
                                                    {"sandbox_id", schema::string("Handle of the sandbox")},
                                                    {"snapshot_id", schema::string("Handle of the snapshot")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "sandbox_id", "snapshot_id"}),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
         .input = {sandbox_id_field(),
                   {"snapshot", &restore_input::snapshot, "Name or handle of a snapshot of this sandbox",
                    rule::required}},
         .process = std::bind_front(process_restore, std::ref(sandboxes))});
}

}  // namespace cmcp
