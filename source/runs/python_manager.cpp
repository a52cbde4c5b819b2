#include "runs/python_manager.hpp"

#include "runs/python_run.hpp"

#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_code = 8 * 1024 * 1024;

std::string check_python(const std::string& code)
{
    if (code.size() <= longest_code) return {};
    return "code: " + std::to_string(code.size()) + " bytes are too long, at most " + std::to_string(longest_code) +
           " are taken; put data in a file with file_write and open it from the code";
}

}  // namespace

python_manager::python_manager(const settings& config, runner runs)
    : interpreter_(config.python_interpreter), terms_(run_terms::of_python(config)), runs_(runs)
{
}

sandbox::zygote_options python_manager::zygote(const settings& config, std::string path)
{
    sandbox::zygote_options options;
    options.path = std::move(path);
    options.profile = config.python_zygote;
    options.waiting = static_cast<std::uint32_t>(config.python_zygote_waiting);
    options.runs = static_cast<std::uint32_t>(config.python_zygote_runs);
    sandbox::run_request model;
    start_python(model, python_home::none, config.python_interpreter);
    options.argv = std::move(model.argv);
    options.environment = std::move(model.environment);
    return options;
}

awaitable<run_outcome> python_manager::run(caller who, request_io& io, std::string code, run_options options)
{
    run_outcome outcome;
    outcome.refused = check_python(code);
    if (!outcome.refused.empty()) co_return outcome;
    sandbox::run_request request;
    run_python(request, python_home::none, interpreter_, std::move(code));
    terms_.apply(request, options);
    outcome = co_await runs_.run(std::move(who), io, std::move(request), std::move(options));
    co_return outcome;
}

}  // namespace cmcp
