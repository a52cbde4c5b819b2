#include "tools/system_run_python.hpp"

#include "runs/missing_module.hpp"
#include "runs/run_report.hpp"
#include "text/utf8_cleaner.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr const char* about_system_run_python =
    "Run Python code as a script inside a sandbox without network. Files that the file tools write are in the working "
    "folder under the same relative paths, can be opened and imported, and stay for later calls; variables do not. "
    "Print what you want to see, or assign it to the variable _ to get it back as `result` in JSON.";

tool_definition system_run_python_definition(bool jobs)
{
    tool_definition made;
    made.name = "system_run_python";
    made.title = "Run Python code";
    made.description = about_system_run_python;
    made.input_schema =
        run_input_schema("code", "Python source; the value of the variable _ at the end is the result", jobs);
    made.output_schema =
        schema::output({{"output", schema::string("Standard output, invalid UTF-8 replaced")},
                        {"error", schema::string("Standard error, with the traceback of an exception")},
                        {"result", schema::any("Value of the variable _ (its repr where JSON has no form)")}},
                       {"output", "error", "result", "success"});
    add_run_output_schema(made.output_schema);
    made.tasks = task_use::may;
    made.output_schema.at("properties").as_object()["prepared"] =
        schema::boolean("The run was a clone of an interpreter that was already loaded");
    if (jobs) add_job_schema(made.output_schema);
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

// The text comes from inside the sandbox: code may have written anything to the descriptor.
json::value parse_result(const std::string& text)
{
    if (text.empty()) return nullptr;
    json::parse_options limits;
    limits.max_depth = 64;
    json::error_code failure;
    json::value parsed = json::parse(text, failure, {}, limits);
    if (!failure) return parsed;
    utf8_cleaner cleaner;
    std::string shown = cleaner.add(text);
    shown += cleaner.finish();
    return json::value(json::string(shown));
}

void append_line(std::string& text, const std::string& line)
{
    if (line.empty()) return;
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += line;
}

tool_result system_run_python_result(run_outcome outcome, module_source modules)
{
    tool_result made;
    std::string sentence = outcome.refused;
    if (sentence.empty()) sentence = ending_sentence(outcome, "PYTHON_TIMEOUT_MAX");
    made.is_error = !sentence.empty();
    std::string error = std::move(outcome.err);
    const bool failed = outcome.end.exit_code != 0;
    if (failed) append_line(error, missing_module_hint(error, modules));
    append_line(error, sentence);
    made.structured["output"] = std::move(outcome.out);
    made.structured["error"] = std::move(error);
    made.structured["result"] = parse_result(outcome.end.result);
    add_run_fields(made.structured, outcome);
    return made;
}

}  // namespace

system_run_python::system_run_python(python_manager& runs, job_manager* jobs)
    : sandbox_run_tool(system_run_python_definition(jobs != nullptr), jobs),
      runs_(runs),
      modules_(jobs != nullptr ? module_source::server_or_sandbox : module_source::server)
{
}

new_job system_run_python::describe(const caller&, const json::object& arguments)
{
    return {{}, "system_run_python", read_string(arguments, "code")};
}

awaitable<tool_result> system_run_python::run(caller who, request_io& io, std::string label, json::object arguments)
{
    std::string code = read_string(arguments, "code");
    run_options options = read_run_options(arguments, std::move(label));
    auto outcome = co_await runs_.run(std::move(who), io, std::move(code), std::move(options));
    co_return system_run_python_result(std::move(outcome), modules_);
}

}  // namespace cmcp
