#include "managers/python_manager.hpp"

#include "managers/bash_manager.hpp"
#include "managers/python_bootstrap.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cmcp {
namespace {

constexpr std::size_t longest_code = 8 * 1024 * 1024;

std::string check(const std::string& code)
{
    if (code.size() <= longest_code) return {};
    return "code: " + std::to_string(code.size()) + " bytes are too long, at most " + std::to_string(longest_code) +
           " are taken; put data in a file with file_write and open it from the code";
}

// A guess that costs nothing when it is wrong but the time of an import.
bool names_data_libraries(const std::string& code)
{
    constexpr std::array<std::string_view, 6> libraries{"numpy", "pandas", "matplotlib", "scipy", "sklearn", "seaborn"};
    return std::any_of(libraries.begin(), libraries.end(), [&](std::string_view name) { return code.find(name) != std::string::npos; });
}

// What all runs have in common, cold or by way of a zygote: one interpreter, one bootstrap, one environment.
sandbox::run_request model(const std::string& interpreter)
{
    sandbox::run_request made;
    made.argv = {interpreter, "-I", "-B", "-X", "utf8", "-c", std::string(python_bootstrap), made.workspace_inside};
    made.environment = python_manager::environment();
    return made;
}

}  // namespace

python_manager::python_manager(const settings& chosen, runner runs)
    : interpreter_(chosen.python_interpreter),
      programs_(allowed_programs(chosen)),
      limits_(common_limits(chosen)),
      timeout_default_(chosen.python_timeout_default),
      timeout_max_(chosen.python_timeout_max),
      job_timeout_(chosen.job_timeout_max),
      runs_(std::move(runs))
{
    limits_.memory = chosen.python_memory_limit;
}

std::vector<std::pair<std::string, std::string>> python_manager::environment()
{
    // One thread for numerical libraries: each of their threads would count against the limits of the run.
    return {{"MPLBACKEND", "Agg"},
            {"MPLCONFIGDIR", "/tmp/matplotlib"},
            {"OPENBLAS_NUM_THREADS", "1"},
            {"PYTHONDONTWRITEBYTECODE", "1"}};
}

sandbox::zygote_options python_manager::zygote(const settings& chosen, std::string path)
{
    sandbox::zygote_options wanted;
    wanted.path = std::move(path);
    wanted.profile = chosen.python_zygote;
    wanted.waiting = static_cast<std::uint32_t>(chosen.python_zygote_waiting);
    wanted.runs = static_cast<std::uint32_t>(chosen.python_zygote_runs);
    wanted.model = model(chosen.python_interpreter);
    return wanted;
}

sandbox::run_request python_manager::request(std::string code, const run_options& options) const
{
    sandbox::run_request made = model(interpreter_);
    made.prepared = true;
    made.data_libraries = names_data_libraries(code);
    made.programs = programs_;
    made.limits = limits_;
    made.limits.wall = options.background ? chosen_timeout(options.timeout, job_timeout_, job_timeout_)
                                          : chosen_timeout(options.timeout, timeout_default_, timeout_max_);
    made.script = std::move(code);
    made.result_channel = true;
    return made;
}

awaitable<run_outcome> python_manager::run(caller who, request_io& io, std::string code, run_options options)
{
    run_outcome outcome;
    outcome.refused = check(code);
    if (!outcome.refused.empty()) co_return outcome;
    auto made = request(std::move(code), options);
    outcome = co_await runs_.run(std::move(who), io, std::move(made), std::move(options));
    co_return outcome;
}

}  // namespace cmcp
