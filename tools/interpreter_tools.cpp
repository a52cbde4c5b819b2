#include "jsonrpc/read_object.hpp"
#include "mcp/tool_registry.hpp"
#include "runs/error_output.hpp"
#include "runs/run_report.hpp"
#include "sandboxes/language_trials.hpp"
#include "tools/run_tool.hpp"
#include "tools/tools.hpp"

#include <functional>
#include <optional>

namespace cmcp {
namespace {

field<sandbox_input> latest_sandbox_id_field() { return sandbox_id_field("Your latest one by default"); }

awaitable<sandbox_record> named_or_latest(sandbox_manager& sandboxes, caller who, std::string id)
{
    if (id.empty()) co_return sandboxes.latest(who);
    auto where = co_await sandboxes.use(std::move(who), std::move(id));
    co_return where;
}

// An output schema with status, error_type and message beside the members given.
json::object interpreter_schema(schema::properties members, schema::names required)
{
    auto output = schema::output(members, required);
    json::object& all = output["properties"].as_object();
    all["status"] = schema::one_of("Whether it worked", {"success", "error"});
    all["error_type"] = schema::string("StateError, ExecutionError, NotFound, InvalidArgument, …");
    all["message"] = schema::string("What happened, and what to do about an error");
    return output;
}

std::string behind_blank(const std::string& text) { return text.empty() ? text : " " + text; }

// The last sentence about a call: what it says itself, or what came of it.
std::string sentence_about(const json::object& outcome)
{
    if (auto message = text_of(outcome, "message"); !message.empty()) return message;
    if (const auto id = view_of(outcome, "container_id"); !id.empty())
        return "The sandbox " + std::string(id) + " is ready." + behind_blank(text_of(outcome, "note"));
    if (const auto job = view_of(outcome, "job_id"); !job.empty()) return "The code runs as " + std::string(job) + ".";
    return "The code ended with exit code " + std::to_string(number_of(outcome, "exit_code")) + ".";
}

/// Work with log messages before and behind it, which users of these tools expect.
template <class Input>
struct announced_process {
    std::string (*begins)(const Input&);
    std::function<awaitable<tool_result>(tool_context&, Input)> work;

    awaitable<tool_result> operator()(tool_context& context, Input input) const
    {
        constexpr std::string_view logger = "sandbox";
        json::value sentence(begins(input));
        co_await context.io.log(log_severity::info, std::string(logger), std::move(sentence));
        tool_result result;
        std::optional<sandbox_error> refused;
        try {
            result = co_await work(context, std::move(input));
        } catch (const sandbox_error& refusal) {
            refused = refusal;
        }
        const bool failed = refused || view_of(result.structured, "status") == "error";
        const auto level = refused && refused->type == "StateError" ? log_severity::warning
                           : failed                                 ? log_severity::error
                                                                    : log_severity::info;
        json::value end(refused ? std::string(refused->what()) : sentence_about(result.structured));
        co_await context.io.log(level, std::string(logger), std::move(end));
        if (refused) throw *refused;
        co_return result;
    }
};

struct initialize_input {
    std::string image;
};

std::string begin_of_initialize(const initialize_input& input)
{
    return input.image.empty() ? "Initializing a sandbox." : "Initializing a sandbox with image " + input.image + ".";
}

// Its users expect that a second call gives the sandbox that there is, unless another image is wanted.
std::optional<sandbox_record> reusable(sandbox_manager& sandboxes, const caller& who, const std::string& image)
{
    try {
        const auto latest = sandboxes.latest(who);
        if (image.empty()) return latest;
        const auto& images = sandboxes.images();
        if (!images.to_fetch(image) && images.check(image) == latest.image) return latest;
    } catch (const sandbox_error& none) {
        if (none.type != "StateError") throw;
    }
    return std::nullopt;
}

awaitable<tool_result> process_initialize(sandbox_manager& sandboxes, language_trials& languages, tool_context& context,
                                          initialize_input input)
{
    constexpr std::chrono::seconds patience_with_trials(5);
    auto where = reusable(sandboxes, context.who, input.image);
    if (where) {
        sandboxes.hold(context.who, *where);
    } else {
        new_sandbox wanted;
        wanted.image = input.image;
        wanted.passing = true;
        where = co_await create_with_image(sandboxes, context, std::move(wanted));
    }
    tool_result result;
    result.structured["status"] = "success";
    result.structured["container_id"] = where->id;
    result.structured["image"] = where->image;
    add_image_digest(result.structured, sandboxes, *where);
    if (!image_choice::is_native(where->image)) co_return result;  // an image tells what it runs when it runs it
    co_await languages.wait_until_complete(patience_with_trials);
    std::string note = sandboxes.images().replaced_by_native(input.image, where->image);
    if (!languages.complete()) note += behind_blank(languages.sentence());
    if (!note.empty()) result.structured["note"] = note;
    if (languages.working().empty()) co_return result;
    json::array& names = result.structured["languages"].emplace_array();
    for (const auto& name : languages.working()) names.emplace_back(name);
    co_return result;
}

tool_owner make_initialize_sandbox(sandbox_manager& sandboxes, language_trials& languages)
{
    return make_tool<initialize_input>(
        {.about = {.name = "initialize_sandbox",
                   .title = "Initialize a sandbox",
                   .description =
                       "Make or get the sandbox of execute_code; it is deleted by stop_sandbox or with the session. "
                       "One that lasts: create_sandbox.",
                   .output_schema = interpreter_schema(
                       {{"container_id", schema::string("Handle of the sandbox, for every tool that takes sandbox_id")},
                        {"image", schema::string("Image that it has; native: the programs of the server's machine")},
                        {"image_digest", schema::string("sha256:… of the image")},
                        {"languages", schema::array("What execute_code runs", schema::string(""))},
                        {"note", schema::string("What is not as it was asked for")}},
                       {"status", "container_id"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::latest_sandbox},
         .input = {{"image", &initialize_input::image, "One of " + sandboxes.images().names(true)}},
         .process =
             announced_process<initialize_input>{
                 begin_of_initialize, std::bind_front(process_initialize, std::ref(sandboxes), std::ref(languages))},
         .refuse = interpreter_refusal});
}

constexpr const char* about_execute_code =
    "Run code in any language in the sandbox of initialize_sandbox, without network; files last. ";

struct execute_code_input : sandbox_run_input {
    std::string language = "python";
};

awaitable<kernel_outcome> run_language(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                                       execute_code_input input)
{
    run_options& options = input;
    auto& where = input.where;
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

tool_result language_result(kernel_outcome& outcome, bool stateful, std::string_view longest)
{
    auto& run = outcome.done.run;
    tool_result result;
    result.structured["status"] = "success";
    const std::string sentence = !run.refused.empty() ? run.refused : ending_sentence(run, longest);
    const bool worked = sentence.empty() && run.end.exit_code == 0;
    const std::string hint = hint_on(run.out, run.end.denied,
                                     {run.limits, stateful ? memory_of_kernels : memory_of_commands, true, !worked});
    if (!worked && !hint.empty()) result.structured["hint"] = hint;
    result.structured["output"] = run.out;
    add_run(result, run);
    if (!worked) add_failure(result, run, sentence);
    if (stateful) add_kernel_fields(result, outcome);
    return result;
}

awaitable<tool_result> execute(sandbox_runner& runs, kernel_manager& kernels, caller who, request_io& io,
                               execute_code_input input)
{
    const bool stateful = input.stateful;
    const std::string longest = runs.python_terms().longest(input.background);
    auto outcome = co_await run_language(runs, kernels, who, io, std::move(input));
    auto result = language_result(outcome, stateful, longest);
    co_await add_files(result, runs, std::move(who), std::move(outcome.done.where), std::move(outcome.done.files));
    co_return result;
}

tool_owner make_execute_code(sandbox_runner& runs, kernel_manager& kernels, language_trials& languages,
                             job_manager& jobs)
{
    using input = execute_code_input;
    run_process<input> process{"execute_code", &jobs, std::bind_front(execute, std::ref(runs), std::ref(kernels)),
                               std::bind_front(named_or_latest, std::ref(runs.sandboxes()))};
    auto described = make_tool<input>(
        {.about = {.name = "execute_code",
                   .title = "Execute code",
                   .description = about_execute_code + languages.sentence(),
                   .output_schema = with_sandbox_run_output(interpreter_schema(
                       {{"output", schema::string("What it printed, standard output and errors in their order")}},
                       {"status", "exit_code", "output"})),
                   .may_show_images = true,
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .tasks = task_use::may,
                   .about = unnamed_subject::latest_sandbox},
         .input = {{"code", &input::code, "", rule::required, rule::example("print(6 * 7)")},
                   {"language", &input::language, "", rule::with_default},
                   latest_sandbox_id_field(),
                   timeout_field(),
                   max_output_field(),
                   stateful_field(),
                   background_field()},
         .process = announced_process<input>{[](const input& wish) { return "Executing " + wish.language + " code."; },
                                             std::bind_front(run_or_begin<input>, std::move(process))},
         .refuse = interpreter_refusal});
    languages.on_change(
        [&languages, &code_tool = *described] { code_tool.describe_as(about_execute_code + languages.sentence()); });
    return described;
}

struct stop_input : sandbox_input {
    bool keep_files = false;
};

awaitable<tool_result> process_stop(sandbox_manager& sandboxes, tool_context& context, stop_input input)
{
    const auto where = co_await named_or_latest(sandboxes, context.who, input.sandbox_id);
    if (input.keep_files) {
        co_await sandboxes.end_processes(context.who, where.id);
        co_return answer_of({{"status", "success"},
                             {"message",
                              "All processes of the sandbox have ended, and its /tmp is empty. Its files are "
                              "kept; the next call starts it again."},
                             {"sandbox_id", where.id}});
    }
    co_await sandboxes.remove(context.who, where.id);
    co_return answer_of({{"status", "success"}, {"message", "Sandbox stopped and removed."}, {"sandbox_id", where.id}});
}

tool_owner make_stop_sandbox(sandbox_manager& sandboxes)
{
    return make_tool<stop_input>(
        {.about = {.name = "stop_sandbox",
                   .title = "Stop and remove a sandbox",
                   .description = "Remove your sandbox with its files, or with keep_files only end its processes.",
                   .output_schema = interpreter_schema({{"sandbox_id", schema::string("Handle of the sandbox")}},
                                                       {"status", "message"}),
                   .needs = scope::sandboxes,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::latest_sandbox},
         .input = {latest_sandbox_id_field(), {"keep_files", &stop_input::keep_files, "", rule::with_default}},
         .process =
             announced_process<stop_input>{[](const stop_input&) { return std::string("Stopping the sandbox."); },
                                           std::bind_front(process_stop, std::ref(sandboxes))},
         .refuse = interpreter_refusal});
}

}  // namespace

void add_interpreter_tools(tool_registry& registry, sandbox_runner& runs, kernel_manager& kernels,
                           language_trials& languages, job_manager& jobs)
{
    registry.add(make_initialize_sandbox(runs.sandboxes(), languages));
    registry.add(make_execute_code(runs, kernels, languages, jobs));
    registry.add(make_stop_sandbox(runs.sandboxes()));
}

}  // namespace cmcp
