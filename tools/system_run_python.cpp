#include "runs/missing_module.hpp"
#include "runs/python_manager.hpp"
#include "runs/run_report.hpp"
#include "text/utf8_cleaner.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

namespace cmcp {
namespace {

constexpr const char* about_system_run_python =
    "Run Python code as a script inside a sandbox without network. Files that the file tools write are in the working "
    "folder under the same relative paths, can be opened and imported, and stay for later calls; variables do not. "
    "Print what you want to see, or assign it to the variable _ to get it back as `result` in JSON.";

struct python_input : run_options {
    std::string code;
};

fields<python_input> python_fields(bool jobs)
{
    fields<python_input> all{{"code", &python_input::code,
                              "Python source; the value of the variable _ at the end is the result", rule::required},
                             {"working_dir", &python_input::working_dir,
                              "Folder to start in: relative to the workspace, or absolute inside the sandbox"},
                             timeout_field(),
                             max_output_field()};
    if (jobs) all.push_back(background_field());
    return all;
}

json::object python_output(bool jobs)
{
    auto output = schema::output({{"output", schema::string("Standard output, invalid UTF-8 replaced")},
                                  {"error", schema::string("Standard error, with the traceback of an exception")},
                                  {"result", schema::any("Value of the variable _ (its repr where JSON has no form)")}},
                                 {"output", "error", "result", "success"});
    add_run_output_schema(output);
    output.at("properties").as_object()["prepared"] =
        schema::boolean("The run was a clone of an interpreter that was already loaded");
    if (jobs) add_job_schema(output);
    return output;
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

tool_result python_result(run_outcome outcome, module_source modules)
{
    tool_result result;
    std::string sentence = outcome.refused;
    if (sentence.empty()) sentence = ending_sentence(outcome, "PYTHON_TIMEOUT_MAX");
    result.is_error = !sentence.empty();
    std::string error = std::move(outcome.err);
    const bool failed = outcome.end.exit_code != 0;
    if (failed) append_line(error, missing_module_hint(error, modules));
    append_line(error, sentence);
    result.structured["output"] = outcome.out;
    result.structured["error"] = error;
    result.structured["result"] = parse_result(outcome.end.result);
    add_run_fields(result.structured, outcome);
    return result;
}

awaitable<tool_result> run_python(python_manager& python, module_source modules, caller who, request_io& io,
                                  python_input input)
{
    run_options& options = input;
    auto outcome = co_await python.run(std::move(who), io, std::move(input.code), std::move(options));
    co_return python_result(std::move(outcome), modules);
}

awaitable<tool_result> process_python(python_manager& python, job_manager* jobs, tool_context& context,
                                      python_input input)
{
    input.label = context.request_id;
    new_job job{.tool = "system_run_python", .label = input.code};
    const bool in_background = input.background;
    const auto modules = jobs != nullptr ? module_source::server_or_sandbox : module_source::server;
    job_manager::work work = [&python, modules, who = context.who, input = std::move(input)](request_io& io) mutable {
        return run_python(python, modules, std::move(who), io, std::move(input));
    };
    auto result = co_await run_or_begin_job(jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

}  // namespace

tool_owner make_system_run_python(python_manager& python, job_manager* jobs)
{
    return make_tool<python_input>(
        {.about = {.name = "system_run_python",
                   .title = "Run Python code",
                   .description = about_system_run_python,
                   .output_schema = python_output(jobs != nullptr),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may},
         .input = python_fields(jobs != nullptr),
         .process = std::bind_front(process_python, std::ref(python), jobs)});
}

}  // namespace cmcp
