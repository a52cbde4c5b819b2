#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition create_sandbox_definition(const settings& chosen)
{
    tool_definition made;
    made.name = "create_sandbox";
    made.title = "Create a sandbox";
    made.description =
        "Make a sandbox with files and packages of its own, which last until delete_sandbox and survive restarts of "
        "the server. Its "
        "working folder is " +
        chosen.sandbox_work_dir + ". Code in it has no network.";
    made.input_schema = schema::input(
        {{"name", schema::string("A name of your choice, unique among your sandboxes; one is made up when left out")},
         {"image", schema::string("Image; SANDBOX_IMAGES lists what is allowed")}});
    made.output_schema = schema::output(
        {{"sandbox_id", schema::string("Handle for the other tools")},
         {"name", schema::string("Its name")},
         {"status", schema::one_of("Its state", {"running", "stopped"})},
         {"image", schema::string("Its image")},
         {"working_dir", schema::string("Working folder inside")},
         {"folder", schema::string("Its files on the server's machine, with SANDBOX_OPEN_MOUNT_DIRECTORY")},
         {"error", schema::string("What went wrong and what to do")}},
        {"sandbox_id", "name", "status"});
    made.annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false};
    return made;
}

class create_sandbox final : public sandbox_tool {
public:
    create_sandbox(managers& all, const settings& chosen)
        : sandbox_tool(create_sandbox_definition(chosen)), all_(all), chosen_(chosen)
    {
    }

private:
    awaitable<tool_result> act(tool_context& context, json::object arguments) override
    {
        new_sandbox wanted{read_string(arguments, "name"), read_string(arguments, "image")};
        const auto where = co_await all_.sandboxes->create(context.who, std::move(wanted));
        tool_result made;
        made.structured = sandbox_json(where);
        made.structured["working_dir"] = chosen_.sandbox_work_dir;
        if (chosen_.sandbox_open_mount)
            made.structured["folder"] = all_.sandboxes->places().workspace(where.id).string();
        co_return made;
    }

    managers& all_;
    const settings& chosen_;
};

}  // namespace

std::unique_ptr<tool> make_create_sandbox(managers& all, const settings& chosen)
{
    return std::make_unique<create_sandbox>(all, chosen);
}

}  // namespace cmcp
