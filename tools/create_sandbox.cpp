#include "tools/sandbox_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

awaitable<tool_result> process_create(sandbox_manager& sandboxes, const settings& config, tool_context& context,
                                      new_sandbox wanted)
{
    const auto where = co_await sandboxes.create(context.who, std::move(wanted));
    tool_result result;
    result.structured = sandbox_json(where);
    result.structured["working_dir"] = config.sandbox_work_dir;
    if (config.sandbox_open_mount) result.structured["folder"] = sandboxes.places().workspace(where.id).string();
    co_return result;
}

json::object create_sandbox_output()
{
    return schema::output(
        {{"sandbox_id", schema::string("Handle for the other tools")},
         {"name", schema::string("Its name")},
         {"status", schema::one_of("Its state", {"running", "stopped"})},
         {"image", schema::string("Its image")},
         {"working_dir", schema::string("Working folder inside")},
         {"folder", schema::string("Its files on the server's machine, with SANDBOX_OPEN_MOUNT_DIRECTORY")},
         {"error", schema::string("What went wrong and what to do")}},
        {"sandbox_id", "name", "status"});
}

}  // namespace

tool_owner make_create_sandbox(sandbox_manager& sandboxes, const settings& config)
{
    using input = new_sandbox;
    return make_tool<input>(
        {.about = {.name = "create_sandbox",
                   .title = "Create a sandbox",
                   .description = "Make a sandbox with files and packages of its own, which last until delete_sandbox "
                                  "and survive restarts of the server. Its working folder is " +
                                  config.sandbox_work_dir + ". Code in it has no network.",
                   .output_schema = create_sandbox_output(),
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false}},
         .input = {{"name", &input::name,
                    "A name of your choice, unique among your sandboxes; one is made up when left out"},
                   {"image", &input::image, "Image; SANDBOX_IMAGES lists what is allowed"}},
         .process = std::bind_front(process_create, std::ref(sandboxes), std::cref(config))});
}

}  // namespace cmcp
