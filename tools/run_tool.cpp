#include "tools/run_tool.hpp"

#include "runs/run_report.hpp"
#include "sandboxes/sandbox_error.hpp"
#include "tools/sandbox_tool.hpp"

namespace cmcp {

field<run_options> timeout_field()
{
    return {"timeout", &run_options::timeout, "",
            rule::time_limit("Seconds after which the run is ended; larger values are cut to the server's maximum")};
}

field<run_options> max_output_field()
{
    return {"max_output", &run_options::max_output,
            "Bytes of each stream in the answer; of more, head and tail are kept",
            rule::between(0, static_cast<std::int64_t>(highest_max_output))};
}

field<run_options> background_field()
{
    return {"run_in_background", &run_options::background,
            "Answer at once with a job_id and let it run on; job_poll gives output and result", rule::with_default};
}

void add_run_output_schema(json::object& schema)
{
    json::object& members = schema["properties"].as_object();
    members["exit_code"] = schema::typed("integer", "As a shell reports it: 128 + signal when a signal ended it");
    members["success"] = schema::boolean("It ended by itself with exit code 0");
    members["duration_ms"] = schema::typed("number", "Wall time");
    members["cause"] = schema::one_of(
        "Why it ended", {"exited", "signalled", "timeout", "cpu_limit", "memory_limit", "process_limit",
                         "file_size_limit", "output_limit", "denied_syscall", "cancelled", "setup_failed"});
    members["stdout_truncated"] = schema::boolean("Standard output is longer than what is shown");
    members["stderr_truncated"] = schema::boolean("Standard error is longer than what is shown");
    members["output_uri"] = schema::string("Resource with everything that was printed, for resources/read");
    members["output_path"] = schema::string("The same as a path for file_read, which pages by offset and limit");
    members["signal"] = schema::typed("integer", "The signal that ended it");
    members["denied"] = schema::array("What the sandbox refused", schema::string(""));
    members["peak_memory_bytes"] = schema::typed("integer", "Most memory used");
    members["cpu_ms"] = schema::typed("number", "Processor time");
}

namespace {

constexpr std::string_view about_job_id = "Handle of a run in the background";

}  // namespace

field<job_input> job_id_field() { return {"job_id", &job_input::job_id, about_job_id, rule::required}; }

void add_job_schema(json::object& schema)
{
    schema["properties"].as_object()["job_id"] = schema::string(about_job_id);
    json::object started;
    started["required"] = json::array{"success", "job_id"};
    schema["anyOf"].as_array().push_back(std::move(started));
}

awaitable<tool_result> run_or_begin_job(job_manager* jobs, tool_context& context, bool in_background, new_job job,
                                        job_manager::work work)
{
    if (!in_background) {
        auto result = co_await work(context.io);
        co_return result;
    }
    if (jobs == nullptr)
        throw sandbox_error("StateError", "run_in_background needs TOOLS_ENABLE_SANDBOX; leave it out.");
    job.request = context.request_id;
    const auto started = jobs->start(context.who, std::move(job), std::move(work));
    tool_result result;
    result.structured["success"] = true;
    result.structured["job_id"] = started.id;
    result.structured["state"] = started.state;
    result.structured["message"] = "It runs in the background; job_poll with this job_id gives its output and result.";
    co_return result;
}

tool_result run_result(run_outcome run, std::string_view timeout_setting, std::string hint)
{
    tool_result result;
    std::string error = run.refused;
    if (error.empty()) error = ending_sentence(run, timeout_setting);
    result.structured["stdout"] = run.out;
    result.structured["stderr"] = run.err;
    if (!hint.empty()) result.structured["hint"] = hint;
    add_run_fields(result.structured, run);
    result.is_error = !error.empty();
    if (result.is_error) result.structured["error"] = error;
    return result;
}

json::object job_json(const job_record& job)
{
    json::object shown;
    shown["job_id"] = job.id;
    shown["state"] = job.state;
    shown["tool"] = job.tool;
    shown["label"] = job.label;
    if (!job.sandbox.empty()) shown["sandbox_id"] = job.sandbox;
    shown["created"] = time_text(job.created);
    if (job.ended != 0) shown["ended"] = time_text(job.ended);
    return shown;
}

void add_job_properties(json::object& properties)
{
    properties["job_id"] = schema::string(about_job_id);
    properties["state"] = schema::one_of("finished: it ended by itself; lost: the server ended while it ran",
                                         {"running", "finished", "killed", "failed", "lost"});
    properties["tool"] = schema::string("The tool that began it");
    properties["label"] = schema::string("The beginning of what runs");
    properties["sandbox_id"] = schema::string("Where it runs; left out: in your workspace");
    properties["created"] = schema::string("ISO 8601, UTC");
    properties["ended"] = schema::string("ISO 8601, UTC");
}

}  // namespace cmcp
