#include "runs/missing_module.hpp"
#include "runs/run_report.hpp"
#include "sandboxes/language_trials.hpp"
#include "tools/sandbox_run.hpp"
#include "tools/tools.hpp"

namespace cmcp {

namespace {

constexpr const char* about_execute_code =
    "Run code in your sandbox (initialize_sandbox makes it), without network. Files stay for later calls. ";

struct execute_code_input : sandbox_code_input {
    std::string language = "python";
};

awaitable<kernel_outcome> run_language(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                                       sandbox_record where, execute_code_input input)
{
    run_options& options = input;
    if (input.language.empty()) input.language = "python";
    kernel_outcome outcome;
    if (!input.stateful) {
        outcome.done = co_await runs.code(std::move(who), io, std::move(where), std::move(input.code),
                                          std::move(input.language), std::move(options));
        co_return outcome;
    }
    const auto* language = find_language(input.language);
    if (language == nullptr || language->name != "python")
        throw sandbox_error("InvalidArgument", "stateful works for language python only.");
    outcome = co_await kernels.execute(std::move(who), io, std::move(where), std::move(input.code), std::move(options));
    outcome.done.run.out += outcome.done.run.err;
    co_return outcome;
}

void add_failure(tool_result& result, const run_outcome& run, const std::string& sentence)
{
    result.structured["status"] = "error";
    result.structured["error_type"] = "ExecutionError";
    result.structured["message"] =
        !sentence.empty() ? sentence : "Execution failed with exit code " + std::to_string(run.end.exit_code);
    if (sentence.empty()) return;
    result.is_error = true;
    result.structured["error"] = sentence;
}

tool_result language_result(kernel_outcome& outcome, bool stateful)
{
    auto& run = outcome.done.run;
    tool_result result;
    result.structured["status"] = "success";
    const std::string sentence = !run.refused.empty() ? run.refused : ending_sentence(run, "PYTHON_TIMEOUT_MAX");
    const bool worked = sentence.empty() && run.end.exit_code == 0;
    const std::string hint = missing_module_hint(run.out, module_source::sandbox);
    if (!worked && !hint.empty()) result.structured["hint"] = hint;
    result.structured["output"] = run.out;
    add_run_fields(result.structured, run);
    if (!worked) add_failure(result, run, sentence);
    if (stateful) add_kernel_fields(result, outcome);
    return result;
}

awaitable<tool_result> execute(sandbox_runner& runs, kernel_manager& kernels, blocking_pool& pool, caller who,
                               request_io& io, sandbox_record where, execute_code_input input)
{
    const bool stateful = input.stateful;
    auto outcome = co_await run_language(runs, kernels, std::move(who), io, std::move(where), std::move(input));
    auto result = language_result(outcome, stateful);
    co_await add_files(result, runs.sandboxes(), pool, std::move(outcome.done.where), std::move(outcome.done.files));
    co_return result;
}

awaitable<tool_result> process_code(sandbox_runner& runs, kernel_manager& kernels, job_manager& jobs,
                                    blocking_pool& pool, tool_context& context, execute_code_input input)
{
    auto where = named_or_latest(runs.sandboxes(), context.who, input.sandbox_id);
    input.label = context.request_id;
    new_job job{where.id, "execute_code", input.code};
    const bool in_background = input.background;
    job_manager::work work = [&runs, &kernels, &pool, who = context.who, where = std::move(where),
                              input = std::move(input)](request_io& io) mutable {
        return execute(runs, kernels, pool, std::move(who), io, std::move(where), std::move(input));
    };
    auto result = co_await run_or_begin_job(&jobs, context, in_background, std::move(job), std::move(work));
    co_return result;
}

json::object execute_code_output()
{
    auto output =
        interpreter_schema({{"output", schema::string("What it printed, standard output and errors in their order")}},
                           {"status", "exit_code", "output"});
    add_sandbox_run_schema(output);
    return output;
}

}  // namespace

tool_owner make_execute_code(sandbox_runner& runs, kernel_manager& kernels, language_trials& languages,
                             job_manager& jobs, blocking_pool& pool)
{
    using input = execute_code_input;
    auto described = make_tool<input>(
        {.about = {.name = "execute_code",
                   .title = "Execute code",
                   .description = about_execute_code + languages.sentence(),
                   .output_schema = execute_code_output(),
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may},
         .input = {{"code", &input::code, "The code; compiled languages are compiled first", rule::required},
                   {"language", &input::language, "Language of the code", rule::with_default},
                   latest_sandbox_id_field(),
                   timeout_field(),
                   max_output_field(),
                   stateful_field(),
                   background_field()},
         .process = std::bind_front(process_code, std::ref(runs), std::ref(kernels), std::ref(jobs), std::ref(pool)),
         .refuse = interpreter_refusal});
    languages.on_change(
        [&languages, &code_tool = *described] { code_tool.describe_as(about_execute_code + languages.sentence()); });
    return described;
}

}  // namespace cmcp
