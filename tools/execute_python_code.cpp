#include "runs/run_report.hpp"
#include "tools/sandbox_tool.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/schema.hpp"
#include "tools/system_run_arguments.hpp"

namespace cmcp {

namespace {

tool_definition execute_python_code_definition()
{
    tool_definition made;
    made.name = "execute_python_code";
    made.title = "Execute Python in a sandbox";
    made.description =
        "Run Python code as a script in a sandbox of yours, without network, with the packages that were installed in "
        "it. Files "
        "stay for later calls; those that the run made or changed come back as links, small images as images.";
    made.input_schema =
        schema::input({{"sandbox_id", sandbox_id_schema()},
                       {"code", schema::string("Python source")},
                       {"working_dir", schema::string("Folder to start in, relative to the working folder")},
                       {"timeout", timeout_schema()},
                       {"max_output", max_output_schema()},
                       {"stateful", stateful_schema()},
                       {"run_in_background", background_schema()}},
                      {"sandbox_id", "code"});
    made.output_schema =
        schema::output({{"stdout", schema::string("What it printed, invalid UTF-8 replaced")},
                        {"stderr", schema::string("What it printed as errors, with the traceback of an exception")}},
                       {"stdout", "stderr", "exit_code", "files", "file_links"});
    add_sandbox_run_schema(made.output_schema);
    made.tasks = task_use::may;
    made.annotations = {.read_only = false, .destructive = true, .idempotent = false, .open_world = false};
    return made;
}

class execute_python_code final : public sandbox_run_tool {
public:
    explicit execute_python_code(managers& all)
        : sandbox_run_tool(execute_python_code_definition(), all.jobs.get()), all_(all)
    {
    }

private:
    new_job describe(const caller& who, const json::object& arguments) override
    {
        const auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        return {where.id, "execute_python_code", read_string(arguments, "code")};
    }
    awaitable<tool_result> run(caller who, request_io& io, std::string label, json::object arguments) override
    {
        auto where = all_.sandboxes->find(who, read_string(arguments, "sandbox_id"));
        auto options = read_run_options(arguments, std::move(label));
        auto code = read_string(arguments, "code");
        if (is_set(arguments, "stateful")) {
            auto kept = co_await all_.kernels->execute(std::move(who), io, std::move(where), std::move(code),
                                                       std::move(options));
            auto answer = sandbox_run_result(kept.done, "PYTHON_TIMEOUT_MAX");
            add_kernel_fields(answer, kept);
            co_await add_files(answer, *all_.sandboxes, *all_.pool, std::move(kept.done.where),
                               std::move(kept.done.files));
            co_return answer;
        }
        auto outcome = co_await all_.sandbox_runs->python(std::move(who), io, std::move(where), std::move(code),
                                                          std::move(options));
        auto made = sandbox_run_result(outcome, "PYTHON_TIMEOUT_MAX");
        co_await add_files(made, *all_.sandboxes, *all_.pool, std::move(outcome.where), std::move(outcome.files));
        co_return made;
    }

    managers& all_;
};

}  // namespace

std::unique_ptr<tool> make_execute_python_code(managers& all) { return std::make_unique<execute_python_code>(all); }

}  // namespace cmcp
