#include "runs/python_run.hpp"

#include "config/execution_settings.hpp"
#include "jail/system_files.hpp"
#include "wire/python_start.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

// The Python program (for `python3 -c`), behind python_common and python_figures, that runs a caller's code as a script
// would be run. It reads the code from descriptor 3 and writes the variable `_`, when there is one, to descriptor 4:
// {"value": …}, or
// {"repr": text} where JSON would not give the value back. Its first argument is the working folder's path inside,
// which is made importable, after the standard library. With "figures" as the second, figures that are shown become
// files.
extern const std::string_view python_bootstrap;

namespace {

// All runs have the same text, so that one loaded interpreter serves them all.
const std::string& python_program()
{
    static const std::string text =
        std::string(sandbox::python_common) + std::string(sandbox::python_figures) + std::string(python_bootstrap);
    return text;
}

// A wrong guess costs the time of an import.
bool names_data_libraries(const std::string& code)
{
    constexpr std::array<std::string_view, 6> libraries{"numpy", "pandas", "matplotlib", "scipy", "sklearn", "seaborn"};
    return std::any_of(libraries.begin(), libraries.end(),
                       [&](std::string_view name) { return code.find(name) != std::string::npos; });
}

constexpr std::size_t longest_code = 8 * 1024 * 1024;

}  // namespace

void add_python_variables(sandbox::run_request& request, python_home home)
{
    auto& all = request.environment;
    all.emplace_back("MPLBACKEND", "Agg");
    all.emplace_back("MPLCONFIGDIR", "/tmp/matplotlib");
    // Each thread counts against the limits of the run, and a process with threads cannot be cloned.
    all.emplace_back("NUMEXPR_NUM_THREADS", "1");
    all.emplace_back("OPENBLAS_NUM_THREADS", "1");
    all.emplace_back("PYTHONDONTWRITEBYTECODE", "1");
    if (home != python_home::sandbox) return;
    // A file named json.py must not stand in for the standard library; -I sees to that elsewhere.
    all.emplace_back("PYTHONSAFEPATH", "1");
    // pip installs into the sandbox's own files, where the network lets it; the distribution's are read-only.
    all.emplace_back("PIP_BREAK_SYSTEM_PACKAGES", "1");
    all.emplace_back("PIP_DISABLE_PIP_VERSION_CHECK", "1");
}

void add_given_python(sandbox::run_request& request)
{
    auto& all = request.environment;
    all.emplace_back("PYTHONUNBUFFERED", "1");
    constexpr std::string_view name = "PYTHONPATH";
    const std::string folder = std::string(sandbox::given_folder) + "/python";
    const auto own = std::ranges::find(all, name, [](const auto& each) { return std::string_view(each.first); });
    if (own == all.end())
        all.emplace_back(name, folder);
    else
        own->second += ":" + folder;
}

std::vector<std::string> python_arguments(python_home home, std::string interpreter, std::string program,
                                          std::vector<std::string> arguments)
{
    sandbox::python_start start;
    start.interpreter = std::move(interpreter);
    start.isolated = home == python_home::none;
    start.program = std::move(program);
    start.arguments = std::move(arguments);
    return start.argv();
}

void start_python(sandbox::run_request& request, python_home home, const std::string& interpreter)
{
    std::vector<std::string> arguments{request.workspace_inside};
    if (home == python_home::sandbox) arguments.emplace_back("figures");
    request.argv = python_arguments(home, interpreter, python_program(), std::move(arguments));
    add_python_variables(request, home);
    request.result_channel = true;
    request.prepared = true;
}

void run_python(sandbox::run_request& request, python_home home, const std::string& interpreter, std::string code)
{
    start_python(request, home, interpreter);
    request.data_libraries = names_data_libraries(code);
    request.script = std::move(code);
}

python_manager::python_manager(const execution_settings& config)
    : interpreter_(config.python_interpreter), terms_(run_terms::of_python(config))
{
}

std::string python_manager::problem(const std::string& code)
{
    if (code.size() <= longest_code) return {};
    return "code: " + std::to_string(code.size()) + " bytes are too long, at most " + std::to_string(longest_code) +
           " are taken; put data in a file with file_write and open it from the code";
}

sandbox::zygote_options python_manager::zygote(const execution_settings& config, std::string path)
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

void python_manager::start(sandbox::run_request& request, std::string code, const run_options& options) const
{
    run_python(request, python_home::sandbox, interpreter_, std::move(code));
    terms_.apply(request, options);
}

}  // namespace cmcp
