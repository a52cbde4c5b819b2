#include "tools/system_run_arguments.hpp"

#include "tools/schema.hpp"

#include <utility>

namespace cmcp {
namespace {

json::object timeout_schema()
{
    json::object made{{"type", "number"}, {"exclusiveMinimum", 0}};
    made["description"] = "Seconds after which the run is ended; larger values are cut to the server's maximum";
    return made;
}

}  // namespace

json::object run_input_schema(std::string_view source, std::string_view description, bool jobs)
{
    const auto highest = static_cast<std::int64_t>(highest_max_output);
    json::object input = schema::input(
        {{source, schema::string(description)},
         {"working_dir",
          schema::string("Folder to start in: relative to the workspace, or absolute inside the sandbox")},
         {"timeout", timeout_schema()},
         {"max_output",
          schema::integer("Bytes of each stream in the answer; of more, head and tail are kept", 0, highest)}},
        {source});
    if (jobs) input["properties"].as_object()["run_in_background"] = background_schema();
    return input;
}

json::object background_schema()
{
    return schema::boolean("Answer at once with a job_id and let it run on; job_poll gives output and result", false);
}

void add_run_output_schema(json::object& schema)
{
    json::object& members = schema["properties"].as_object();
    const auto number = [](std::string_view text) { return json::object{{"type", "number"}, {"description", text}}; };
    const auto integer = [](std::string_view text) { return json::object{{"type", "integer"}, {"description", text}}; };
    members["exit_code"] = integer("As a shell reports it: 128 + signal when a signal ended it");
    members["success"] = schema::boolean("It ended by itself with exit code 0");
    members["duration_ms"] = number("Wall time");
    members["cause"] = schema::one_of(
        "Why it ended", {"exited", "signalled", "timeout", "cpu_limit", "memory_limit", "process_limit",
                         "file_size_limit", "output_limit", "denied_syscall", "cancelled", "setup_failed"});
    members["stdout_truncated"] = schema::boolean("Standard output is longer than what is shown");
    members["stderr_truncated"] = schema::boolean("Standard error is longer than what is shown");
    members["output_uri"] = schema::string("Resource with everything that was printed, for resources/read");
    members["output_path"] = schema::string("The same as a path for file_read, which pages by offset and limit");
    members["signal"] = integer("The signal that ended it");
    members["denied"] = schema::array("What the sandbox refused", schema::string(""));
    members["peak_memory_bytes"] = integer("Most memory used");
    members["cpu_ms"] = number("Processor time");
}

run_options read_run_options(const json::object& arguments, std::string request_id)
{
    run_options options;
    options.working_dir = read_string(arguments, "working_dir");
    if (const json::value* timeout = arguments.if_contains("timeout")) options.timeout = timeout->to_number<double>();
    if (const json::value* most = arguments.if_contains("max_output"))
        options.max_output = static_cast<std::size_t>(most->to_number<double>());
    if (const json::value* background = arguments.if_contains("run_in_background"))
        options.background = background->as_bool();
    options.label = std::move(request_id);
    return options;
}

std::string read_string(const json::object& arguments, std::string_view name)
{
    const json::value* found = arguments.if_contains(name);
    return found == nullptr ? std::string() : std::string(found->as_string());
}

}  // namespace cmcp
