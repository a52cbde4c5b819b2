#include "tools/run_tool.hpp"

#include "files/file_error.hpp"
#include "files/file_root.hpp"
#include "files/media_types.hpp"
#include "mcp/reserved_names.hpp"
#include "runs/error_output.hpp"
#include "runs/run_report.hpp"
#include "text/encodings.hpp"
#include "text/utf8_text.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr std::size_t most_images = 4;
constexpr std::uint64_t largest_image = 1 << 20;  // bytes; of larger ones only the name is shown
constexpr std::uint64_t all_images = 2 << 20;

bool is_image(std::string_view type)
{
    return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

struct picture {
    std::string data;
    std::string type;
};

std::vector<picture> read_pictures(const std::filesystem::path& folder, const std::vector<std::string>& files)
{
    std::vector<picture> pictures;
    std::uint64_t left = all_images;
    const file_root root(folder);
    for (const auto& file : files) {
        const std::string type(media_type_of(file, ""));
        if (!is_image(type) || pictures.size() == most_images) continue;
        try {
            const auto opened = root.open_regular(file_path("file", file));
            struct stat status {};
            ::fstat(opened.get(), &status);
            const auto size = static_cast<std::uint64_t>(status.st_size);
            if (size == 0 || size > largest_image || size > left) continue;
            std::string bytes(size, '\0');
            if (::pread(opened.get(), bytes.data(), size, 0) != status.st_size) continue;
            pictures.push_back({base64_encode(bytes), type});
            left -= size;
        } catch (const file_error&) {
            // gone or replaced since the run: the link says so
        }
    }
    return pictures;
}

}  // namespace

field<run_options> timeout_field() { return {"timeout", &run_options::timeout, "", rule::time_limit("Seconds")}; }

field<run_options> max_output_field()
{
    return {"max_output", &run_options::max_output, "Bytes of output to show",
            rule::between(0, static_cast<std::int64_t>(highest_max_output)), rule::unlisted};
}

field<run_options> background_field()
{
    return {"run_in_background", &run_options::background, "Gives a job_id for job_poll", rule::with_default};
}

json::object with_run_output(json::object schema)
{
    json::object& members = schema["properties"].as_object();
    members["exit_code"] = schema::typed("integer", "As a shell reports it: 128 + signal when a signal ended it");
    members["success"] = schema::boolean("It ended by itself with exit code 0");
    members["duration_ms"] = schema::typed("number", "Wall time");
    members["cause"] = schema::one_of(
        "Why it ended", {"exited", "signalled", "timeout", "cpu_limit", "memory_limit", "process_limit",
                         "file_size_limit", "output_limit", "denied_syscall", "cancelled", "setup_failed", "lost"});
    members["stdout_truncated"] = schema::boolean("Standard output is longer than what is shown");
    members["stderr_truncated"] = schema::boolean("Standard error is longer than what is shown");
    members["output_uri"] = schema::string("Resource with everything that was printed, for resources/read");
    members["binary_bytes"] = schema::typed("integer", "What it printed is no text but so many bytes");
    members["output_path"] = schema::string("The same as a path for file_read, which pages by offset and limit");
    members["signal"] = schema::typed("integer", "The signal that ended it");
    members["denied"] = schema::array("What the sandbox refused", schema::string(""));
    members["peak_memory_bytes"] = schema::typed("integer", "Most memory used");
    members["cpu_ms"] = schema::typed("number", "Processor time");
    return schema;
}

json::object with_job_id(json::object schema)
{
    auto& members = schema["properties"].as_object();
    members["job_id"] = schema::string(about_job_id);
    members["state"] = schema::string("Of the run in the background");
    members["cursor"] = schema::typed("integer", "For job_poll: what was printed before is here");
    if (!members.contains("output")) members["output"] = schema::string("With job_id: what was printed so far");
    schema["anyOf"].as_array().push_back(json::object{{"required", json::array{"success", "job_id"}}});
    return schema;
}

awaitable<tool_result> begin_job(job_manager* jobs, tool_context& context, new_job job, job_manager::work work)
{
    if (jobs == nullptr)
        throw sandbox_error("StateError", "run_in_background needs TOOLS_ENABLE_SANDBOX; leave it out.");
    job.request = context.request_id;
    const auto begun = co_await jobs->start(context.who, std::move(job), std::move(work));
    const std::string how = begun.queue_position == 0 ? "It runs in the background"
                                                      : "It waits for its turn in the background, at position " +
                                                            std::to_string(begun.queue_position) + " of the queue";
    json::object answer;
    answer["success"] = true;
    answer["job_id"] = begun.record.id;
    answer["state"] = begun.record.state;
    answer["message"] = how + "; job_poll with this job_id gives its output and result.";
    co_return answer_of(std::move(answer));
}

tool_result answer_with_job(const job_manager::end_of_call& call)
{
    json::object answer;
    answer["success"] = true;
    answer["output"] = call.printed;
    answer["job_id"] = call.job.id;
    answer["state"] = call.job.state;
    answer["cursor"] = static_cast<std::int64_t>(call.printed.size());
    const bool waits = call.job.state == "queued";
    answer["message"] =
        std::string(
            waits ? "An earlier call still runs there (job_kill ends it), so this one waits in the background and "
                    "begins after it"
                  : "Its time is over, and it goes on in the background") +
        ": job_poll with this job_id and cursor reads on (until: end waits for its end), job_kill ends it.";
    return answer_of(std::move(answer));
}

void add_run(tool_result& result, const run_outcome& run)
{
    add_run_fields(result.structured, run);
    if (!run.busy.empty()) result.meta[reserved_name::busy] = run.busy;
}

tool_result run_result(run_outcome run, std::string_view longest, std::string hint)
{
    tool_result result;
    std::string error = run.refused;
    if (error.empty()) error = ending_sentence(run, longest);
    result.structured["stdout"] = run.out;
    result.structured["stderr"] = run.err;
    if (!hint.empty()) result.structured["hint"] = hint;
    add_run(result, run);
    result.is_error = !error.empty();
    if (result.is_error) result.structured["error"] = error;
    return result;
}

field<sandbox_run_input> stateful_field()
{
    return {"stateful", &sandbox_run_input::stateful,
            "Keep variables, as a notebook does (display, await, %pip, !command)", rule::with_default};
}

json::object with_sandbox_run_output(json::object schema)
{
    schema = with_run_output(std::move(schema));
    json::object& members = schema["properties"].as_object();
    members["files"] =
        schema::array("Files that the run made or changed, relative to the working folder", schema::string(""));
    members["file_links"] = schema::array("Where to download them, in the same order", schema::string(""));
    members["files_left_out"] = schema::typed("integer", "How many more there are");
    members["result"] = schema::any("With stateful: the value of the last expression");
    members["result_is_repr"] =
        schema::boolean("result is the value's repr() as text: JSON would not give the value back");
    members["late_output"] = schema::string(
        "With stateful: what threads, tasks and children of earlier calls printed since the call before");
    members["displays"] =
        schema::array("With stateful: what it showed, in order; the text of each stands in stdout or result",
                      schema::object("",
                                     {{"mime_types", schema::array("Its forms", schema::string(""))},
                                      {"files", schema::any("Files with the forms that are no text, by MIME type")},
                                      {"is_result", schema::boolean("It is the value of the last expression")}},
                                     {"mime_types", "files"}));
    members["kernel"] = schema::string("With stateful: what became of the kernel, when it ended");
    members["hint"] =
        schema::string("What to do about a missing module, a limit that was reached, or a command that there is not");
    members["note"] = schema::string("What became of processes and /tmp of this run, or of those before");
    members["class"] = schema::string("machine: root inside, weaker isolation");
    members["error"] = schema::string("What went wrong and what to do");
    return with_job_id(std::move(schema));
}

tool_result sandbox_run_result(run_outcome run, std::string_view longest, std::string_view memory_setting)
{
    std::string hint = hint_on(run.err, run.end.denied, {run.limits, memory_setting, true, run.end.exit_code != 0});
    return run_result(std::move(run), longest, std::move(hint));
}

void add_kernel_fields(tool_result& result, kernel_outcome& outcome)
{
    if (outcome.result) result.structured["result"] = std::move(*outcome.result);
    if (outcome.result && outcome.result_is_repr) result.structured["result_is_repr"] = true;
    if (!outcome.late_output.empty()) result.structured["late_output"] = replace_invalid_utf8(outcome.late_output);
    if (!outcome.displays.empty()) result.structured["displays"] = std::move(outcome.displays);
    auto* error = result.structured.if_contains("error");
    if (outcome.note.empty() && error != nullptr)
        *error = std::string(error->as_string()) + " The kernel goes on; its variables stay.";
    if (outcome.note.empty()) return;
    result.is_error = true;
    result.structured["success"] = false;
    result.structured["kernel"] = outcome.note;
    result.structured["error"] = outcome.note;
}

awaitable<> add_files(tool_result& result, sandbox_runner& runs, caller who, sandbox_record where, changed_paths files)
{
    auto& sandboxes = runs.sandboxes();
    json::array names, links;
    for (const auto& file : files.paths) {
        names.emplace_back(file);
        links.emplace_back(sandboxes.link_to(who, where, file));
    }
    result.structured["files"] = std::move(names);
    result.structured["file_links"] = std::move(links);
    if (files.left_out != 0) result.structured["files_left_out"] = files.left_out;
    if (where.machine) result.structured["class"] = where.class_name();
    if (files.paths.empty()) co_return;
    auto work = [folder = sandboxes.places().files(where), paths = std::move(files.paths)] {
        return read_pictures(folder, paths);
    };
    const auto pictures = co_await runs.pool().run(where.owner, std::move(work));
    for (const auto& each : pictures)
        result.content.push_back(json::object{{"type", "image"}, {"data", each.data}, {"mimeType", each.type}});
}

}  // namespace cmcp
