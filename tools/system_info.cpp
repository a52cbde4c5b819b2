#include "tools/system_info.hpp"

#include "mcp/revision.hpp"
#include "runs/bash_manager.hpp"
#include "runs/python_manager.hpp"
#include "tools/schema.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr const char* about_system_info =
    "What this server is and allows: version, protocol revisions, limits of runs and files, the layers of the sandbox, "
    "the versions of bash and Python in it, and the programs that system_run_command may run.";

tool_definition system_info_definition()
{
    tool_definition made;
    made.name = "system_info";
    made.title = "About this server";
    made.description = about_system_info;
    made.input_schema = schema::input({});
    json::object layer =
        schema::object("One layer of the isolation", {{"name", schema::string("")},
                                                      {"state", schema::string("on, degraded, off or not asked for")},
                                                      {"detail", schema::string("")}});
    made.output_schema =
        schema::output({{"name", schema::string("")},
                        {"version", schema::string("")},
                        {"protocol_revisions", schema::array("Revisions of MCP that are spoken", schema::string(""))},
                        {"limits", schema::object("Seconds and bytes", {})},
                        {"backend", schema::string("What runs the sandboxes")},
                        {"layers", schema::array("Layers of the sandbox, found by probing", std::move(layer))},
                        {"bash_version", schema::string("")},
                        {"python_version", schema::string("")},
                        {"python_interpreter", schema::string("")},
                        {"allowed_commands", schema::array("[\"*\"]: all", schema::string(""))},
                        {"success", schema::boolean("")}},
                       {"name", "version", "protocol_revisions", "limits", "layers", "allowed_commands", "success"});
    made.annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false};
    return made;
}

// The runs that find the versions are not the caller's: nothing of them is shown.
class silent_io final : public request_io {
public:
    bool wants_progress() const override { return false; }
    awaitable<> progress(double, std::optional<double>, std::string) override { co_return; }
    awaitable<> output(double, std::vector<output_text>) override { co_return; }
    awaitable<> log(log_severity, std::string, json::value) override { co_return; }
    awaitable<> notify(std::string, json::object) override { co_return; }
    awaitable<json::object> ask(std::string, std::string, json::object) override { co_return json::object(); }
    void close_stream_for_polling() override {}
};

std::string first_line(const run_outcome& outcome)
{
    if (outcome.end.why != sandbox::cause::exited || outcome.end.exit_code != 0) return {};
    return outcome.out.substr(0, outcome.out.find('\n'));
}

json::array describe(const sandbox::layers& found)
{
    json::array all;
    for (const sandbox::layer& one : found) {
        json::object made;
        made["name"] = one.name;
        made["state"] = sandbox::to_string(one.is);
        made["detail"] = one.detail;
        all.push_back(std::move(made));
    }
    return all;
}

json::array allowed(const sandbox::program_view& programs)
{
    if (programs.all) return {"*"};
    return json::array(programs.names.begin(), programs.names.end());
}

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

}  // namespace

system_info::system_info(managers& all, const settings& chosen)
    : all_(all), chosen_(chosen), definition_(system_info_definition())
{
}

awaitable<> system_info::find_versions(const caller& who)
{
    silent_io io;
    run_options options;
    options.label = "system_info";
    if (bash_version_.empty()) {
        std::string command = "builtin echo $BASH_VERSION";
        auto outcome = co_await all_.bash->run(who, io, std::move(command), options);
        bash_version_ = first_line(outcome);
    }
    if (python_version_.empty()) {
        std::string code = "import sys\nprint('.'.join(map(str, sys.version_info[:3])))";
        auto outcome = co_await all_.python->run(who, io, std::move(code), options);
        python_version_ = first_line(outcome);
    }
}

json::object system_info::limits() const
{
    json::object made;
    made["bash_timeout_default_s"] = seconds(chosen_.bash_timeout_default);
    made["bash_timeout_max_s"] = seconds(chosen_.bash_timeout_max);
    made["python_timeout_default_s"] = seconds(chosen_.python_timeout_default);
    made["python_timeout_max_s"] = seconds(chosen_.python_timeout_max);
    made["command_memory_bytes"] = chosen_.memory_limit;
    made["python_memory_bytes"] = chosen_.python_memory_limit;
    made["processes"] = chosen_.process_limit;
    made["file_size_bytes"] = chosen_.file_size_limit;
    made["tmp_bytes"] = chosen_.tmp_size;
    made["workspace_bytes"] = chosen_.workspace_max_size;
    made["workspace_files"] = chosen_.workspace_max_files;
    made["output_bytes"] = default_max_output;
    made["output_bytes_max"] = highest_max_output;
    made["output_bytes_hard"] = chosen_.output_hard_limit;
    made["file_tool_bytes"] = chosen_.file_max_size;
    made["file_extensions"] =
        json::array(chosen_.file_allowed_extensions.begin(), chosen_.file_allowed_extensions.end());
    return made;
}

awaitable<tool_result> system_info::call(tool_context& context, json::object)
{
    auto found = co_await all_.native.probe();
    co_await find_versions(context.who);
    tool_result made;
    json::object& about = made.structured;
    about["name"] = "container-mcp";
    about["version"] = CMCP_VERSION;
    about["protocol_revisions"] = json::array(revision_names.begin(), revision_names.end());
    about["limits"] = limits();
    about["backend"] = all_.native.name();
    about["layers"] = describe(found);
    about["bash_version"] = bash_version_;
    about["python_version"] = python_version_;
    about["python_interpreter"] = chosen_.python_interpreter;
    about["allowed_commands"] = allowed(all_.bash->programs());
    about["success"] = true;
    co_return made;
}

}  // namespace cmcp
