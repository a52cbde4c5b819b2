#include "runs/python_manager.hpp"

#include "runs/bash_manager.hpp"
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

sandbox::zygote_options python_manager::zygote(const settings& chosen, std::string path)
{
    sandbox::zygote_options wanted;
    wanted.path = std::move(path);
    wanted.profile = chosen.python_zygote;
    wanted.waiting = static_cast<std::uint32_t>(chosen.python_zygote_waiting);
    wanted.runs = static_cast<std::uint32_t>(chosen.python_zygote_runs);
    start_python(wanted.model, python_home::none, chosen.python_interpreter);
    return wanted;
}

sandbox::run_request python_manager::request(std::string code, const run_options& options) const
{
    sandbox::run_request made;
    run_python(made, python_home::none, interpreter_, std::move(code));
    made.programs = programs_;
    made.limits = limits_;
    made.limits.wall = options.background ? chosen_timeout(options.timeout, job_timeout_, job_timeout_)
                                          : chosen_timeout(options.timeout, timeout_default_, timeout_max_);
    return made;
}

awaitable<run_outcome> python_manager::run(caller who, request_io& io, std::string code, run_options options)
{
    run_outcome outcome;
    outcome.refused = check_python(code);
    if (!outcome.refused.empty()) co_return outcome;
    auto made = request(std::move(code), options);
    outcome = co_await runs_.run(std::move(who), io, std::move(made), std::move(options));
    co_return outcome;
}

}  // namespace cmcp
