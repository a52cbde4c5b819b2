#include "tools/sandbox_tools.hpp"

#include "mcp/tool_registry.hpp"
#include "preview/previews.hpp"
#include "text/time_text.hpp"
#include "tools/tools.hpp"

#include <cmath>
#include <ctime>

namespace cmcp {
namespace {

awaitable<tool_result> process_create(sandbox_manager& sandboxes, const settings& config, tool_context& context,
                                      new_sandbox wanted)
{
    const auto where = co_await create_with_image(sandboxes, context, std::move(wanted));
    tool_result result;
    result.structured = sandbox_json(where);
    add_image_digest(result.structured, sandboxes, where);
    result.structured["working_dir"] = config.sandbox_work_dir;
    if (config.sandbox_open_mount) result.structured["folder"] = sandboxes.places().workspace(where.id).string();
    co_return result;
}

tool_owner make_create_sandbox(sandbox_manager& sandboxes, const settings& config)
{
    using input = new_sandbox;
    return make_tool<input>(
        {.about =
             {.name = "create_sandbox",
              .title = "Create a sandbox",
              .description =
                  "Make a sandbox with files and packages of its own, kept until delete_sandbox. Working folder: " +
                  config.sandbox_work_dir + ". No network.",
              .output_schema = schema::output(
                  {{"sandbox_id", schema::string("Handle for the other tools")},
                   {"name", schema::string("Its name")},
                   {"status", schema::one_of("Its state", {"running", "stopped"})},
                   {"image", schema::string("Its image; native: the programs of the server's machine")},
                   {"image_digest", schema::string("sha256:… of the image")},
                   {"working_dir", schema::string("Working folder inside")},
                   {"folder", schema::string("Its files on the server's machine, with SANDBOX_OPEN_MOUNT_DIRECTORY")},
                   {"error", schema::string("What went wrong and what to do")}},
                  {"sandbox_id", "name", "status"}),
              .needs = scope::sandboxes,
              .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false},
              .tasks = sandboxes.images().pulls().empty() ? task_use::never : task_use::may,
              .about = unnamed_subject::new_sandbox},
         .input = {{"name", &input::name, "Of your choice"}, {"image", &input::image, "One of SANDBOX_IMAGES"}},
         .process = std::bind_front(process_create, std::ref(sandboxes), std::cref(config))});
}

awaitable<> add_use(json::object& row, previews& shown, sandbox_record where, sandbox::cell_state live)
{
    row["processes"] = live.processes;
    row["memory_bytes"] = live.memory;
    if (live.processes == 0) co_return;
    const auto listening = co_await shown.listening(std::move(where));
    row["ports"] = json::array(listening.begin(), listening.end());
}

awaitable<tool_result> process_list_sandboxes(sandbox_manager& sandboxes, previews& shown, tool_context& context,
                                              no_input)
{
    tool_result result;
    json::array& rows = result.structured["sandboxes"].emplace_array();
    const auto cells = co_await sandboxes.cells().now();
    const auto all = sandboxes.list(context.who);
    for (const auto& record : all) {
        auto row = sandbox_json(record);
        const auto live = cells.find(record.id);
        if (live != cells.end()) co_await add_use(row, shown, record, live->second);
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
    auto row =
        schema::object("",
                       {{"sandbox_id", schema::string("")},
                        {"name", schema::string("")},
                        {"status", schema::one_of("", {"running", "stopped"})},
                        {"image", schema::string("")},
                        {"created", schema::string("ISO 8601, UTC")},
                        {"last_used", schema::string("ISO 8601, UTC")},
                        {"disk_bytes", schema::typed("integer", "")},
                        {"processes", schema::typed("integer", "Those that run in it; left out: it is not live")},
                        {"memory_bytes", schema::typed("integer", "Of its processes")},
                        {"ports", schema::array("On which its programs listen", schema::typed("integer", ""))},
                        {"packages", schema::array("Installed ones", std::move(package))}},
                       {"sandbox_id", "name", "status", "image", "created", "last_used"});
    return schema::output({{"sandboxes", schema::array("", std::move(row))},
                           {"unreachable_nodes", schema::array("Servers that do not answer now", schema::string(""))},
                           {"error", schema::string("")}},
                          {"sandboxes"});
}

tool_owner make_list_sandboxes(sandbox_manager& sandboxes, previews& shown)
{
    return make_tool<no_input>(
        {.about = {.name = "list_sandboxes",
                   .title = "List sandboxes",
                   .description =
                       "Your sandboxes with state, packages and ports. A stopped one starts when it is used.",
                   .output_schema = list_sandboxes_output(),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .gathers = {"sandboxes"}},
         .input = {},
         .process = std::bind_front(process_list_sandboxes, std::ref(sandboxes), std::ref(shown))});
}

awaitable<tool_result> process_delete(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = sandboxes.find(context.who, input.sandbox_id);
    co_await sandboxes.remove(context.who, where.id);
    co_return answer_of({{"success", true}, {"sandbox_id", where.id}});
}

tool_owner make_delete_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "delete_sandbox",
                   .title = "Delete a sandbox",
                   .description = "Remove a sandbox with all that it has.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it is gone")},
                                                    {"sandbox_id", schema::string("Its handle")},
                                                    {"error", schema::string("What went wrong and what to do")}},
                                                   {"success", "sandbox_id"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_delete, std::ref(sandboxes))});
}

}  // namespace

field<sandbox_input> sandbox_id_field(std::string_view description)
{
    return {"sandbox_id", &sandbox_input::sandbox_id, description, rule::header("Sandbox-Id")};
}

field<sandbox_input> sandbox_id_field()
{
    auto handle = sandbox_id_field("");
    handle.required = true;
    return handle;
}

json::object sandbox_json(const sandbox_record& record)
{
    json::object shown;
    shown["sandbox_id"] = record.id;
    shown["name"] = record.name;
    shown["status"] = record.status;
    shown["image"] = record.image;
    shown["created"] = time_text(record.created);
    shown["last_used"] = time_text(record.last_used);
    shown["disk_bytes"] = record.disk;
    return shown;
}

awaitable<sandbox_record> create_with_image(sandbox_manager& sandboxes, tool_context& context, new_sandbox wanted)
{
    co_await sandboxes.fetches().provide(context.io, wanted.image);
    auto where = co_await sandboxes.create(context.who, std::move(wanted));
    co_return where;
}

void add_image_digest(json::object& into, const sandbox_manager& sandboxes, const sandbox_record& where)
{
    if (!image_choice::is_native(where.image)) into["image_digest"] = "sha256:" + sandboxes.images().of(where).digest;
}

std::string time_text(double seconds)
{
    return utc_text(static_cast<std::time_t>(std::floor(seconds)), "%Y-%m-%dT%H:%M:%SZ");
}

void add_sandbox_tools(tool_registry& registry, sandbox_manager& sandboxes, previews& shown, const settings& config)
{
    registry.add(make_create_sandbox(sandboxes, config));
    registry.add(make_list_sandboxes(sandboxes, shown));
    registry.add(make_delete_sandbox(sandboxes));
}

}  // namespace cmcp
