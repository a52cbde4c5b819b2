#include "tools/sandbox_tool.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "files/workspace_resources.hpp"
#include "jsonrpc/write_json.hpp"
#include "runs/missing_module.hpp"
#include "runs/run_report.hpp"
#include "store/database.hpp"
#include "text/base64.hpp"
#include "text/time_text.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

#include <boost/system/system_error.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace cmcp {

namespace {

constexpr std::size_t most_images = 4;
constexpr std::uint64_t largest_image = 1 << 20;  // bytes; larger ones are links only
constexpr std::uint64_t all_images = 2 << 20;

bool is_image(std::string_view type)
{
    return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

struct picture {
    std::string data;
    std::string type;
};

std::vector<picture> read_pictures(const std::filesystem::path& workspace, const std::vector<std::string>& files)
{
    std::vector<picture> found;
    std::uint64_t left = all_images;
    const file_root root(workspace);
    for (const auto& file : files) {
        const std::string type(media_type_of(file, ""));
        if (!is_image(type) || found.size() == most_images) continue;
        try {
            const auto opened = root.open_regular(file_path("file", file));
            struct stat status {};
            ::fstat(opened.get(), &status);
            const auto size = static_cast<std::uint64_t>(status.st_size);
            if (size == 0 || size > largest_image || size > left) continue;
            std::string bytes(size, '\0');
            if (::pread(opened.get(), bytes.data(), size, 0) != status.st_size) continue;
            found.push_back({base64_encode(bytes), type});
            left -= size;
        } catch (const file_error&) {
            // gone or replaced since the run: the link says so
        }
    }
    return found;
}

json::object block(std::string_view type)
{
    json::object made;
    made["type"] = type;
    return made;
}

}  // namespace

awaitable<tool_result> sandbox_tool::call(tool_context& context, json::object arguments)
{
    std::string type, sentence;
    try {
        auto result = co_await act(context, std::move(arguments));
        co_return result;
    } catch (const sandbox_error& refused) {
        type = refused.type;
        sentence = refused.what();
    } catch (const file_missing& refused) {
        type = "NotFound";
        sentence = refused.what();
    } catch (const file_error& refused) {
        type = "InvalidArgument";
        sentence = refused.what();
    } catch (const database_error& refused) {
        type = "SandboxError";
        sentence = std::string("The store of sandboxes does not work (") + refused.what() +
                   "); check the disk that SANDBOX_ROOT is on.";
    }
    co_return refusal(type, sentence);
}

tool_result sandbox_tool::refusal(const std::string& type, const std::string& sentence) const
{
    return sandbox_failure(type, sentence);
}

tool_result sandbox_failure(const std::string& type, const std::string& sentence)
{
    auto made = tool_failure(sentence);
    made.structured["error_type"] = type;
    return made;
}

awaitable<tool_result> sandbox_run_tool::act(tool_context& context, json::object arguments)
{
    if (!is_set(arguments, "run_in_background")) {
        auto result = co_await run(context.who, context.io, context.request_id, std::move(arguments));
        co_return result;
    }
    if (jobs_ == nullptr)
        throw sandbox_error("StateError", "run_in_background needs TOOLS_ENABLE_SANDBOX; leave it out.");
    auto what = describe(context.who, arguments);
    what.request = context.request_id;
    job_manager::work begins = [this, who = context.who, label = context.request_id, arguments](request_io& io) {
        return run_answered(who, io, label, arguments);
    };
    auto started = jobs_->start(context.who, std::move(what), std::move(begins));
    co_return job_started(started);
}

awaitable<tool_result> sandbox_run_tool::run_answered(caller who, request_io& io, std::string label,
                                                      json::object arguments)
{
    auto result = co_await run(std::move(who), io, std::move(label), std::move(arguments));
    co_return result;
}

tool_result job_started(const job_record& made)
{
    tool_result result;
    result.structured["success"] = true;
    result.structured["job_id"] = made.id;
    result.structured["state"] = made.state;
    result.structured["message"] = "It runs in the background; job_poll with this job_id gives its output and result.";
    return result;
}

json::object sandbox_id_schema(std::string_view description)
{
    auto made = schema::string(description);
    made["x-mcp-header"] = "Sandbox-Id";
    return made;
}

json::object timeout_schema()
{
    json::object made{{"type", "number"}, {"exclusiveMinimum", 0}};
    made["description"] = "Seconds after which the run is ended; larger values are cut to the server's maximum";
    return made;
}

json::object max_output_schema()
{
    return schema::integer("Bytes of each stream in the answer; of more, head and tail are kept", 0,
                           static_cast<std::int64_t>(highest_max_output));
}

json::object stateful_schema()
{
    return schema::boolean(
        "Run in the sandbox's Python kernel, which keeps variables, imports and open figures for later stateful calls; "
        "restart_kernel and interrupt_kernel act on it",
        false);
}

bool is_set(const json::object& arguments, std::string_view name)
{
    const auto* found = arguments.if_contains(name);
    return found != nullptr && found->is_bool() && found->get_bool();
}

void add_kernel_fields(tool_result& made, kernel_outcome& outcome)
{
    if (outcome.result) made.structured["result"] = std::move(*outcome.result);
    auto* error = made.structured.if_contains("error");
    if (outcome.note.empty() && error != nullptr)
        *error = std::string(error->as_string()) + " The kernel goes on; its variables stay.";
    if (outcome.note.empty()) return;
    made.is_error = true;
    made.structured["success"] = false;
    made.structured["kernel"] = outcome.note;
    made.structured["error"] = outcome.note;
}

json::object job_id_schema() { return schema::string("Handle of a run in the background"); }

void add_sandbox_run_schema(json::object& schema)
{
    add_run_output_schema(schema);
    json::object& members = schema["properties"].as_object();
    members["files"] =
        schema::array("Files that the run made or changed, relative to the working folder", schema::string(""));
    members["file_links"] = schema::array("Where to download them, in the same order", schema::string(""));
    members["result"] = schema::any("With stateful: the value of the last expression");
    members["kernel"] = schema::string("With stateful: what became of the kernel, when it ended");
    members["hint"] = schema::string("What brings a Python module that was not there");
    members["error"] = schema::string("What went wrong and what to do");
    add_job_schema(schema);
}

void add_job_schema(json::object& schema)
{
    schema["properties"].as_object()["job_id"] = job_id_schema();
    json::object started;
    started["required"] = json::array{"success", "job_id"};
    schema["anyOf"].as_array().push_back(std::move(started));
}

tool_result sandbox_run_result(sandbox_outcome& outcome, std::string_view timeout_setting)
{
    tool_result made;
    std::string hint =
        outcome.run.end.exit_code != 0 ? missing_module_hint(outcome.run.err, module_source::sandbox) : std::string();
    std::string error = outcome.run.refused;
    if (error.empty()) error = ending_sentence(outcome.run, timeout_setting);
    made.structured["stdout"] = std::move(outcome.run.out);
    made.structured["stderr"] = std::move(outcome.run.err);
    if (!hint.empty()) made.structured["hint"] = std::move(hint);
    add_run_fields(made.structured, outcome.run);
    made.is_error = !error.empty();
    if (made.is_error) made.structured["error"] = std::move(error);
    return made;
}

awaitable<> add_files(tool_result& made, sandbox_manager& sandboxes, blocking_pool& pool, sandbox_record where,
                      std::vector<std::string> files)
{
    json::array names, links;
    for (const auto& file : files) {
        names.emplace_back(file);
        links.emplace_back(sandboxes.link_to(where, file));
    }
    made.structured["files"] = std::move(names);
    made.structured["file_links"] = std::move(links);
    if (files.empty()) co_return;
    auto work = [workspace = sandboxes.places().workspace(where.id), files] { return read_pictures(workspace, files); };
    const auto pictures = co_await pool.run(std::move(work));
    auto text = block("text");
    text["text"] = jsonrpc::write_json(made.structured);
    made.content.push_back(std::move(text));
    for (const auto& each : pictures) {
        auto image = block("image");
        image["data"] = each.data;
        image["mimeType"] = each.type;
        made.content.push_back(std::move(image));
    }
    for (const auto& file : files) {
        auto link = block("resource_link");
        link["uri"] = sandboxes.uri_of(where, file);
        link["name"] = file;
        link["mimeType"] = media_type_of(file, "application/octet-stream");
        made.content.push_back(std::move(link));
    }
}

json::object sandbox_json(const sandbox_record& of)
{
    json::object made;
    made["sandbox_id"] = of.id;
    made["name"] = of.name;
    made["status"] = of.status;
    made["image"] = of.image;
    made["created"] = time_text(of.created);
    made["last_used"] = time_text(of.last_used);
    made["disk_bytes"] = of.disk;
    return made;
}

std::string time_text(double seconds)
{
    return utc_text(static_cast<std::time_t>(std::floor(seconds)), "%Y-%m-%dT%H:%M:%SZ");
}

}  // namespace cmcp
