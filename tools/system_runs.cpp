#include "async/blocking_pool.hpp"
#include "async/sized_work.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/tool_registry.hpp"
#include "runs/bash_manager.hpp"
#include "runs/error_output.hpp"
#include "runs/python_run.hpp"
#include "runs/run_report.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>

namespace cmcp {
namespace {

// Where there are jobs, there are sandboxes, too.
std::string about_system_run_command(bool sandboxes)
{
    const std::string text =
        "Run a bash command on the files of file_*, without network. Only the programs in BASH_ALLOWED_COMMANDS exist.";
    return sandboxes ? text + " For servers or packages use execute_terminal_command." : text;
}

std::string about_system_run_python(bool sandboxes)
{
    const std::string text =
        "Run a Python script on the files of file_*, without network. Print, or assign the `result` to _. Variables do "
        "not last";
    return text + (sandboxes ? "; execute_python_code with stateful keeps them." : ".");
}

fields<sandbox_run_input> system_run_fields(field<sandbox_run_input> code, bool jobs)
{
    fields<sandbox_run_input> all{std::move(code),
                                  {"working_dir", &sandbox_run_input::working_dir, "Folder to start in"},
                                  timeout_field(),
                                  max_output_field()};
    if (jobs) all.push_back(background_field());
    return with_sandbox<sandbox_run_input>(std::move(all));
}

json::object command_output(bool jobs)
{
    auto output =
        with_run_output(schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                                        {"stderr", schema::string("What it printed as errors")},
                                        {"hint", schema::string("What to do about a limit or a missing command")}},
                                       {"stdout", "stderr", "exit_code", "success"}));
    return jobs ? with_job_id(std::move(output)) : output;
}

bool has_any(const std::string& text, std::initializer_list<std::string_view> words)
{
    return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// To look for new files costs more than a short run does, so it is done for what may draw.
bool may_draw(const std::string& code)
{
    return has_any(code, {"plot", "seaborn", "PIL", "savefig", ".png", ".jp", ".gif", ".webp"});
}

// A script that it starts may draw.
bool command_may_draw(const std::string& command)
{
    return may_draw(command) || has_any(command, {"python", "Rscript", "node", "make"});
}

awaitable<sandbox_outcome> with_files(sandbox_runner& runs, sandbox_record where, bool draws,
                                      awaitable<run_outcome> running)
{
    sandbox_outcome seen;
    if (draws)
        seen = co_await runs.with_files(std::move(where), std::move(running));
    else
        seen.run = co_await std::move(running);
    co_return seen;
}

awaitable<run_outcome> run_listed_command(sandbox_runner& runs, bash_manager& bash, caller who, request_io& io,
                                          sandbox_run_input input)
{
    run_outcome outcome;
    outcome.refused = bash_manager::problem(input.code);
    if (!outcome.refused.empty()) co_return outcome;
    auto request = runs.listed_base(input.where);
    bash.start(request, std::move(input.code), input);
    run_options& options = input;
    outcome = co_await runs.listed(std::move(who), io, std::move(input.where), "command", std::move(request),
                                   std::move(options));
    bash.explain(outcome);
    co_return outcome;
}

awaitable<tool_result> run_bash(sandbox_runner& runs, bash_manager& bash, caller who, request_io& io,
                                sandbox_run_input input)
{
    const std::string longest = bash.terms().longest(input.background);
    const sandbox_record where = input.where;
    const bool draws = command_may_draw(input.code);
    auto running = run_listed_command(runs, bash, who, io, std::move(input));
    auto seen = co_await with_files(runs, where, draws, std::move(running));
    auto& outcome = seen.run;
    std::string hint = hint_on(outcome.err, outcome.end.denied,
                               {outcome.limits, memory_of_commands, false, outcome.end.exit_code != 0});
    auto result = run_result(std::move(outcome), longest, std::move(hint));
    if (!seen.files.paths.empty()) co_await add_files(result, runs, std::move(who), where, std::move(seen.files));
    co_return result;
}

tool_owner make_system_run_command(sandbox_runner& runs, bash_manager& bash, job_manager* jobs)
{
    using input = sandbox_run_input;
    run_process<input> process{"system_run_command", jobs, std::bind_front(run_bash, std::ref(runs), std::ref(bash)),
                               std::bind_front(&sandbox_manager::use, &runs.sandboxes()), true};
    return make_tool<input>(
        {.about = {.name = "system_run_command",
                   .title = "Run a shell command",
                   .description = about_system_run_command(jobs != nullptr),
                   .output_schema = command_output(jobs != nullptr),
                   .may_show_images = true,
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may,
                   .about = unnamed_subject::default_sandbox},
         .input = system_run_fields({"command", &input::code, "", rule::required, rule::example("ls -l | head")},
                                    jobs != nullptr),
         .process = std::bind_front(run_or_begin<input>, std::move(process))});
}

json::object python_output(bool jobs)
{
    auto output = with_run_output(
        schema::output({{"output", schema::string("Standard output, invalid UTF-8 replaced")},
                        {"error", schema::string("Standard error, with the traceback of an exception")},
                        {"result", schema::any("Value of the variable _, null where it is not set")},
                        {"result_is_repr",
                         schema::boolean("result is the value's repr() as text: JSON would not give the value back")}},
                       {"output", "error", "result", "success"}));
    output.at("properties").as_object()["prepared"] =
        schema::boolean("The run was a clone of an interpreter that was already loaded");
    return jobs ? with_job_id(std::move(output)) : output;
}

// The text comes from inside the sandbox: code may have written anything to the descriptor.
void add_value(json::object& to, const std::string& text)
{
    auto parts = jsonrpc::read_object(text, 80);
    json::value& result = to["result"];
    if (auto* value = parts.if_contains("value")) {
        result = std::move(*value);
    } else if (auto* form = parts.if_contains("repr")) {
        result = std::move(*form);
        to["result_is_repr"] = true;
    } else if (!text.empty()) {
        result = json::string(replace_invalid_utf8(text));
    }
}

tool_result python_result(run_outcome outcome, module_source modules, std::string_view longest)
{
    tool_result result;
    std::string sentence = outcome.refused;
    if (sentence.empty()) sentence = ending_sentence(outcome, longest);
    result.is_error = !sentence.empty();
    std::string error = std::move(outcome.err);
    const bool failed = outcome.end.exit_code != 0;
    std::string hint = failed ? missing_module_hint(error, modules) : std::string();
    if (hint.empty()) hint = hint_on(error, {}, {outcome.limits, "PYTHON_MEMORY_LIMIT", false, false});
    add_line(error, hint);
    add_line(error, sentence);
    result.structured["output"] = outcome.out;
    result.structured["error"] = error;
    add_value(result.structured, outcome.end.result);
    add_run(result, outcome);
    return result;
}

awaitable<run_outcome> run_listed_python(sandbox_runner& runs, python_manager& python, caller who, request_io& io,
                                         sandbox_run_input input)
{
    run_outcome outcome;
    outcome.refused = python_manager::problem(input.code);
    if (!outcome.refused.empty()) co_return outcome;
    auto request = runs.listed_base(input.where);
    python.start(request, std::move(input.code), input);
    run_options& options = input;
    outcome = co_await runs.listed(std::move(who), io, std::move(input.where), "python", std::move(request),
                                   std::move(options));
    co_return outcome;
}

awaitable<tool_result> run_python(sandbox_runner& runs, python_manager& python, module_source modules, caller who,
                                  request_io& io, sandbox_run_input input)
{
    const std::string longest = python.terms().longest(input.background);
    const std::string principal = who.principal;
    const sandbox_record where = input.where;
    const bool draws = may_draw(input.code);
    auto running = run_listed_python(runs, python, who, io, std::move(input));
    auto seen = co_await with_files(runs, where, draws, std::move(running));
    auto& outcome = seen.run;
    const auto size = outcome.out.size() + outcome.err.size() + outcome.end.result.size();
    auto describe = [ended = std::make_shared<run_outcome>(std::move(outcome)), modules, longest] {
        return python_result(std::move(*ended), modules, longest);
    };
    auto result = co_await by_size(runs.pool(), principal, size, std::move(describe));
    if (!seen.files.paths.empty()) co_await add_files(result, runs, std::move(who), where, std::move(seen.files));
    co_return result;
}

tool_owner make_system_run_python(sandbox_runner& runs, python_manager& python, job_manager* jobs)
{
    using input = sandbox_run_input;
    const auto modules = jobs != nullptr ? module_source::server_or_sandbox : module_source::server;
    run_process<input> process{"system_run_python", jobs,
                               std::bind_front(run_python, std::ref(runs), std::ref(python), modules),
                               std::bind_front(&sandbox_manager::use, &runs.sandboxes()), true};
    return make_tool<input>(
        {.about = {.name = "system_run_python",
                   .title = "Run Python code",
                   .description = about_system_run_python(jobs != nullptr),
                   .output_schema = python_output(jobs != nullptr),
                   .may_show_images = true,
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may,
                   .about = unnamed_subject::default_sandbox},
         .input = system_run_fields({"code", &input::code, "", rule::required, rule::listed_example{"_ = 6 * 7"}},
                                    jobs != nullptr),
         .process = std::bind_front(run_or_begin<input>, std::move(process))});
}

}  // namespace

void add_system_runs(tool_registry& registry, sandbox_runner& runs, bash_manager& bash, python_manager& python,
                     job_manager* jobs)
{
    registry.add(make_system_run_command(runs, bash, jobs));
    registry.add(make_system_run_python(runs, python, jobs));
}

}  // namespace cmcp
