#include "runs/run_terms.hpp"

#include <algorithm>

namespace cmcp {

namespace {

sandbox::program_view allowed_programs(const settings& config)
{
    const auto& names = config.bash_allowed_commands;
    sandbox::program_view view;
    view.all = std::find(names.begin(), names.end(), "*") != names.end();
    if (!view.all) view.names = names;
    return view;
}

}  // namespace

sandbox::run_limits common_limits(const settings& config)
{
    sandbox::run_limits limits;
    limits.memory = config.memory_limit;
    limits.processes = config.process_limit;
    limits.file_size = config.file_size_limit;
    limits.tmp_size = config.tmp_size;
    limits.workspace_size = config.workspace_max_size;
    limits.workspace_files = config.workspace_max_files;
    limits.output = config.output_hard_limit;
    return limits;
}

run_terms run_terms::of_commands(const settings& config)
{
    return {allowed_programs(config), common_limits(config), config.bash_timeout_default, config.bash_timeout_max,
            config.job_timeout_max};
}

run_terms run_terms::of_python(const settings& config)
{
    run_terms terms{allowed_programs(config), common_limits(config), config.python_timeout_default,
                    config.python_timeout_max, config.job_timeout_max};
    terms.limits.memory = config.python_memory_limit;
    return terms;
}

std::chrono::milliseconds run_terms::time(const run_options& options) const
{
    if (options.background) return chosen_timeout(options.timeout, longest_job, longest_job);
    return chosen_timeout(options.timeout, time_otherwise, longest_time);
}

void run_terms::apply(sandbox::run_request& request, const run_options& options) const
{
    request.programs = programs;
    request.limits = limits;
    request.limits.wall = time(options);
}

}  // namespace cmcp
