#include "runs/missing_module.hpp"
#include "runs/run_report.hpp"
#include "sandboxes/language_trials.hpp"
#include "tools/interpreter_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition execute_code_definition()
{
    tool_definition made;
    made.name = "execute_code";
    made.title = "Execute code";
    made.description =
        "Run code in your sandbox (initialize_sandbox makes it), without network. Files stay for later calls. ";
    auto language = schema::string("Language of the code", "python");
    made.input_schema =
        schema::input({{"code", schema::string("The code; compiled languages are compiled first")},
                       {"language", std::move(language)},
                       {"sandbox_id", sandbox_id_schema("Handle of a sandbox; your latest one when left out")},
                       {"timeout", timeout_schema()},
                       {"max_output", max_output_schema()},
                       {"stateful", stateful_schema()},
                       {"run_in_background", background_schema()}},
                      {"code"});
    made.output_schema =
        interpreter_schema({{"output", schema::string("What it printed, standard output and errors in their order")}},
                           {"status", "exit_code", "output"});
    add_sandbox_run_schema(made.output_schema);
    made.tasks = task_use::may;
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

void add_failure(tool_result& made, const run_outcome& run, const std::string& sentence)
{
    made.structured["status"] = "error";
    made.structured["error_type"] = "ExecutionError";
    made.structured["message"] =
        !sentence.empty() ? sentence : "Execution failed with exit code " + std::to_string(run.end.exit_code);
    if (sentence.empty()) return;
    made.is_error = true;
    made.structured["error"] = sentence;
}

class execute_code final : public sandbox_run_tool {
public:
    explicit execute_code(managers& all) : sandbox_run_tool(execute_code_definition(), all.jobs.get()), all_(all)
    {
        name_languages();
        all.languages->on_change([this] { name_languages(); });
    }

private:
    void name_languages() { describe_as(execute_code_definition().description + all_.languages->sentence()); }
    sandbox_record place(const caller& who, const json::object& arguments)
    {
        const auto id = read_string(arguments, "sandbox_id");
        return id.empty() ? all_.sandboxes->latest(who) : all_.sandboxes->find(who, id);
    }
    new_job describe(const caller& who, const json::object& arguments) override
    {
        return {place(who, arguments).id, "execute_code", read_string(arguments, "code")};
    }
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override
    {
        auto where = place(who, arguments);
        auto language = read_string(arguments, "language");
        if (language.empty()) language = "python";
        auto options = read_run_options(arguments, std::move(label));
        auto code = read_string(arguments, "code");
        kernel_outcome kept;
        if (!is_set(arguments, "stateful")) {
            kept.done = co_await all_.sandbox_runs->code(std::move(who), io, std::move(where), std::move(code),
                                                         std::move(language), std::move(options));
        } else {
            const auto* known = find_language(language);
            if (known == nullptr || known->name != "python")
                throw sandbox_error("InvalidArgument", "stateful works for language python only.");
            kept = co_await all_.kernels->execute(std::move(who), io, std::move(where), std::move(code),
                                                  std::move(options));
            kept.done.run.out += kept.done.run.err;
        }
        auto& outcome = kept.done;
        tool_result made;
        made.structured["status"] = "success";
        const std::string sentence =
            !outcome.run.refused.empty() ? outcome.run.refused : ending_sentence(outcome.run, "PYTHON_TIMEOUT_MAX");
        const bool worked = sentence.empty() && outcome.run.end.exit_code == 0;
        const std::string hint = missing_module_hint(outcome.run.out, module_source::sandbox);
        if (!worked && !hint.empty()) made.structured["hint"] = hint;
        made.structured["output"] = std::move(outcome.run.out);
        add_run_fields(made.structured, outcome.run);
        if (!worked) add_failure(made, outcome.run, sentence);
        add_kernel_fields(made, kept);
        co_await add_files(made, *all_.sandboxes, *all_.pool, std::move(outcome.where), std::move(outcome.files));
        co_return made;
    }
    tool_result refusal(const std::string& type, const std::string& sentence) const override
    {
        return interpreter_tool::interpreter_refusal(type, sentence);
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_execute_code(managers& all) { return std::make_unique<execute_code>(all); }

}  // namespace cmcp
