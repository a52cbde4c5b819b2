#include "tools/sandbox_tools.hpp"

#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"
#include "preview/previews.hpp"
#include "sandboxes/sandbox_services.hpp"
#include "text/time_text.hpp"
#include "text/words.hpp"
#include "tools/tools.hpp"

#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

namespace cmcp {
namespace {

// Without values, which nobody hears.
void add_secrets_row(json::object& into, sandbox_manager& sandboxes, const sandbox_record& where)
{
    json::array rows;
    for (const auto& each : sandboxes.network().secrets_of(where))
        rows.push_back({{"variable", each.variable}, {"hosts", each.hosts}, {"place", each.place}});
    if (!rows.empty()) into["secrets"] = std::move(rows);
}

json::object secrets_schema()
{
    return schema::array("Variables with placeholders, which become secrets in their place of requests to their hosts",
                         schema::typed("object", ""));
}

awaitable<tool_result> process_create(sandbox_manager& sandboxes, const settings& config, tool_context& context,
                                      new_sandbox wanted)
{
    const std::string image = wanted.image;
    const auto where = co_await create_with_image(sandboxes, context, std::move(wanted));
    tool_result result;
    result.structured = sandbox_json(where);
    const auto note = sandboxes.images().replaced_by_native(image, where.image);
    if (!note.empty()) result.structured["note"] = note;
    add_image_digest(result.structured, sandboxes, where);
    result.structured["working_dir"] = config.sandbox_work_dir;
    add_secrets_row(result.structured, sandboxes, where);
    if (config.sandbox_open_mount) result.structured["folder"] = sandboxes.places().files(where).string();
    co_return result;
}

fields<network_wish> network_fields()
{
    field<network_wish> allow{"allow", &network_wish::allow, "", rule::listed_example{json::array{"github.com:443"}}};
    allow.schema["items"] = schema::string("Host, *.host or host:port");
    return {std::move(allow), {"ask", &network_wish::ask, "Ask the user for others"}};
}

// Where there is one image alone, a list need not speak of images.
fields<new_sandbox> create_fields(const image_choice& images, bool with_network, bool with_machines, bool with_labels)
{
    using input = new_sandbox;
    field<input> image{"image", &input::image, "One of " + images.names(true)};
    image.listed = images.names(false) != "native";
    fields<input> all{{"name", &input::name, ""}, std::move(image)};
    field<input> network{"network", &input::network, "Hosts that its programs may reach",
                         rule::members<network_wish>{network_fields()},
                         rule::example(json::object{{"allow", json::array{"github.com:443"}}})};
    network.listed = with_network;
    all.push_back(std::move(network));
    field<input> machine{"machine", &input::machine, "Root inside: apt-get, writable /, weaker isolation"};
    machine.listed = with_machines;
    all.push_back(std::move(machine));
    all.push_back({"user", &input::user, "The name of its account", rule::unlisted, rule::example("user")});
    all.push_back(lease_field(&input::timeout));
    all.push_back({"at_timeout", &input::at_timeout, "What becomes of it then", rule::one_of({"pause", "delete"}),
                   rule::unlisted});
    field<input> labels{"labels", &input::labels, "That its server must have",
                        rule::listed_example{json::array{"gpu=a100"}}};
    labels.schema["items"] = schema::string("name=value");
    labels.listed = with_labels;
    all.push_back(std::move(labels));
    return all;
}

std::string about_network(const sandbox_manager& sandboxes, const settings& config)
{
    if (!sandboxes.offers_network()) return "No network: the operator allows hosts by SANDBOX_NETWORK_ALLOWED.";
    return config.sandbox_network == settings::words{"none"} ? "No network unless given."
                                                             : "Network: " + joined(config.sandbox_network, ", ") + ".";
}

json::object create_output(bool with_network)
{
    auto all = schema::output(
        {{"sandbox_id", schema::string("Handle for the other tools")},
         {"name", schema::string("Its name")},
         {"status", status_schema()},
         {"expires", schema::string(about_expires)},
         {"at_timeout", at_timeout_schema()},
         {"image", schema::string("Its image; native: the programs of the server's machine")},
         {"image_digest", schema::string("sha256:… of the image")},
         {"class", schema::one_of("Its isolation", {"strict", "machine"})},
         {"user", schema::string("The name of its account, where it is not sandbox")},
         {"note", schema::string("What is not as it was asked for")},
         {"network", schema::array("Hosts that its programs may reach", schema::string(""))},
         {"working_dir", schema::string("Working folder inside")},
         {"folder", schema::string("Its files on the server's machine, with SANDBOX_OPEN_MOUNT_DIRECTORY")}},
        {"sandbox_id", "name", "status"});
    if (with_network) all["properties"].as_object()["secrets"] = secrets_schema();
    return all;
}

tool_owner make_create_sandbox(sandbox_manager& sandboxes, const settings& config)
{
    using input = new_sandbox;
    return make_tool<input>(
        {.about = {.name = "create_sandbox",
                   .title = "Create a sandbox",
                   .description = "Make another sandbox, with files and packages of its own, kept until "
                                  "delete_sandbox. Working folder: " +
                                  config.sandbox_work_dir + ". " + about_network(sandboxes, config),
                   .output_schema = create_output(sandboxes.offers_network()),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false},
                   .tasks = sandboxes.images().pulls().empty() ? task_use::never : task_use::may,
                   .about = unnamed_subject::new_sandbox},
         .input = create_fields(sandboxes.images(), sandboxes.offers_network(), config.allows_machines(),
                                !config.cluster_etcd.empty()),
         .process = std::bind_front(process_create, std::ref(sandboxes), std::cref(config))});
}

using live_sandboxes = std::map<std::string, sandbox::cell_state>;

// A sandbox with processes, whose ports are looked for, or with services, and its index in the list.
struct live_row {
    std::size_t index;
    sandbox_record where;
    bool runs = false;
};

json::object row_of(const listed_sandbox& listed, const live_sandboxes& cells)
{
    auto row = sandbox_json(listed.record);
    if (const auto live = cells.find(listed.record.id); live != cells.end()) {
        row["processes"] = live->second.processes;
        row["memory_bytes"] = live->second.memory;
    }
    json::array& packages = row["packages"].emplace_array();
    for (const auto& [name, version] : listed.packages)
        packages.push_back(json::object{{"name", name}, {"version", version}});
    return row;
}

awaitable<tool_result> process_list_sandboxes(sandbox_manager& sandboxes, previews& shown, sandbox_services& services,
                                              tool_context& context, no_input)
{
    auto cells = co_await sandboxes.cells().now();
    auto live = std::make_shared<std::vector<live_row>>();
    auto describe = [live, cells = std::move(cells)](std::vector<listed_sandbox> all) {
        json::array rows;
        for (auto& each : all) {
            const auto cell = cells.find(each.record.id);
            const bool runs = cell != cells.end() && cell->second.processes != 0;
            rows.push_back(row_of(each, cells));
            if (runs || !each.record.services.empty()) live->push_back({rows.size() - 1, std::move(each.record), runs});
        }
        return rows;
    };
    auto rows = co_await sandboxes.described(context.who, std::move(describe));
    for (auto& each : *live) {
        if (!each.where.services.empty()) rows[each.index].as_object()["services"] = services.described(each.where);
        if (!each.runs) continue;
        const auto listening = co_await shown.listening(std::move(each.where));
        rows[each.index].as_object()["ports"] = json::array(listening.begin(), listening.end());
    }
    tool_result result;
    result.structured["sandboxes"] = std::move(rows);
    co_return result;
}

json::object list_sandboxes_output()
{
    auto service =
        schema::object("",
                       {{"name", schema::string("")},
                        {"command", schema::string("")},
                        {"state", schema::one_of("", {"running", "starting", "stopped"})},
                        {"job_id", schema::string("For job_poll, its output; job_kill ends it for good")},
                        {"restarts", schema::typed("integer", "How often its program has ended since it started")},
                        {"exit_code", schema::typed("integer", "The latest")}},
                       {"name", "command", "state"});
    auto package =
        schema::object("", {{"name", schema::string("")}, {"version", schema::string("")}}, {"name", "version"});
    auto row =
        schema::object("",
                       {{"sandbox_id", schema::string("")},
                        {"name", schema::string("")},
                        {"status", status_schema()},
                        {"expires", schema::string(about_expires)},
                        {"at_timeout", at_timeout_schema()},
                        {"image", schema::string("")},
                        {"class", schema::one_of("Its isolation", {"strict", "machine"})},
                        {"user", schema::string("The name of its account")},
                        {"created", schema::string("ISO 8601, UTC")},
                        {"last_used", schema::string("ISO 8601, UTC")},
                        {"disk_bytes", schema::typed("integer", "")},
                        {"network", schema::array("Hosts that its programs may reach", schema::string(""))},
                        {"processes", schema::typed("integer", "Those that run in it; left out: it is not live")},
                        {"memory_bytes", schema::typed("integer", "Of its processes")},
                        {"ports", schema::array("On which its programs listen", schema::typed("integer", ""))},
                        {"services", schema::array("That run whenever it does", std::move(service))},
                        {"packages", schema::array("Installed ones", std::move(package))}},
                       {"sandbox_id", "name", "status", "image", "created", "last_used"});
    return schema::output({{"sandboxes", schema::array("", std::move(row))},
                           {"unreachable_nodes", schema::array("Servers that do not answer now", schema::string(""))},
                           {"error", schema::string("")}},
                          {"sandboxes"});
}

tool_owner make_list_sandboxes(sandbox_manager& sandboxes, previews& shown, sandbox_services& services)
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
         .process = std::bind_front(process_list_sandboxes, std::ref(sandboxes), std::ref(shown), std::ref(services))});
}

awaitable<tool_result> process_delete(sandbox_manager& sandboxes, tool_context& context, sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    co_await sandboxes.remove(context.who, where.id);
    co_return answer_of({{"success", true}, {"sandbox_id", where.id}});
}

tool_owner make_delete_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<sandbox_input>(
        {.about = {.name = "delete_sandbox",
                   .title = "Delete a sandbox",
                   .description = "Delete a sandbox with everything in it; the default one becomes empty.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether it is gone")},
                                                    {"sandbox_id", schema::string("Its handle")}},
                                                   {"success", "sandbox_id"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
         .input = {{"sandbox_id", &sandbox_input::sandbox_id, "", rule::header("Sandbox-Id"), rule::required}},
         .process = std::bind_front(process_delete, std::ref(sandboxes))});
}

struct network_input : sandbox_input, network_wish {};

awaitable<tool_result> process_set_network(sandbox_manager& sandboxes, tool_context& context, network_input input)
{
    network_wish wish{std::move(input.allow), input.ask};
    const bool ended = co_await sandboxes.set_network(context.who, input.sandbox_id, std::move(wish));
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    json::object answer{{"success", true}, {"sandbox_id", where.id}, {"network", network_json(where)}};
    add_secrets_row(answer, sandboxes, where);
    if (sandbox_network::asks_in(where)) answer["network_asks"] = true;
    if (ended) answer["note"] = "The sandbox's processes were ended for it, and its /tmp is empty.";
    co_return answer_of(std::move(answer));
}

tool_owner make_set_network(sandbox_manager& sandboxes)
{
    fields<network_input> input{sandbox_id_field()};
    for (const auto& each : network_fields()) input.emplace_back(each);
    input[1].required = true;
    return make_tool<network_input>(
        {.about = {.name = "set_network",
                   .title = "Change a sandbox's network",
                   .description = "Say which hosts the programs of a sandbox may reach; open connections end.",
                   .output_schema = schema::output(
                       {{"sandbox_id", schema::string("Its handle")},
                        {"network", schema::array("Hosts that its programs may reach", schema::string(""))},
                        {"secrets", secrets_schema()},
                        {"note", schema::string("What became of its processes")}},
                       {"success", "sandbox_id", "network"}),
                   .needs = scope::web,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = true},
                   .about = unnamed_subject::default_sandbox},
         .input = std::move(input),
         .process = std::bind_front(process_set_network, std::ref(sandboxes))});
}

}  // namespace

json::array network_json(const sandbox_record& record)
{
    const auto hosts = sandbox_network::hosts_in(record);
    return json::array(hosts.begin(), hosts.end());
}

field<sandbox_input> sandbox_id_field(std::string_view description)
{
    return {"sandbox_id", &sandbox_input::sandbox_id, description, rule::header("Sandbox-Id")};
}

json::object status_schema() { return schema::one_of("Its state", {"running", "stopped", "paused"}); }

json::object at_timeout_schema() { return schema::one_of("What becomes of it then", {"pause", "delete"}); }

void add_lease(json::object& into, const sandbox_record& where)
{
    if (where.lease.ends == 0) return;
    into["expires"] = time_text(where.lease.ends);
    into["at_timeout"] = where.lease.deletes ? "delete" : "pause";
}

json::object sandbox_json(const sandbox_record& record)
{
    json::object shown;
    shown["sandbox_id"] = record.id;
    shown["name"] = record.name;
    shown["status"] = record.status;
    shown["image"] = record.image;
    shown["class"] = record.class_name();
    if (!record.user.empty()) shown["user"] = record.user;
    shown["created"] = time_text(record.created);
    shown["last_used"] = time_text(record.last_used);
    shown["disk_bytes"] = record.disk;
    add_lease(shown, record);
    if (!record.labels.empty()) shown["labels"] = record.labels;
    if (!record.network.empty()) shown["network"] = network_json(record);
    if (sandbox_network::asks_in(record)) shown["network_asks"] = true;
    return shown;
}

awaitable<sandbox_record> create_with_image(sandbox_manager& sandboxes, tool_context& context, new_sandbox wanted)
{
    sandboxes.check_maker(context.who, wanted.image);
    sandboxes.check_labels(wanted.labels);
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

void add_sandbox_tools(tool_registry& registry, sandbox_manager& sandboxes, previews& shown, sandbox_services& services,
                       const settings& config)
{
    registry.add(make_create_sandbox(sandboxes, config));
    registry.add(make_list_sandboxes(sandboxes, shown, services));
    registry.add(make_delete_sandbox(sandboxes));
    if (sandboxes.offers_network()) registry.add(make_set_network(sandboxes));
}

}  // namespace cmcp
