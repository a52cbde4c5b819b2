#include "runs/python_run.hpp"

#include "wire/python_start.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

// The Python program (for `python3 -c`) that runs a caller's code as a script would be run. It reads the code from
// descriptor 3 and writes the JSON form of the variable `_`, when there is one, to descriptor 4.
// Its first argument is the workspace's path inside, which is made importable, after the standard library. With
// "figures" as the second, open figures become files: python_figures stands before it then.
extern const std::string_view python_bootstrap;
namespace {

// All runs have the same text, so that one loaded interpreter serves them all.
const std::string& python_program()
{
    static const std::string text = std::string(python_figures) + std::string(python_bootstrap);
    return text;
}

// A wrong guess costs the time of an import.
bool names_data_libraries(const std::string& code)
{
    constexpr std::array<std::string_view, 6> libraries{"numpy", "pandas", "matplotlib", "scipy", "sklearn", "seaborn"};
    return std::any_of(libraries.begin(), libraries.end(),
                       [&](std::string_view name) { return code.find(name) != std::string::npos; });
}

}  // namespace

run_variables python_variables(python_home home)
{
    // Numerical libraries get one thread, because each thread counts against the limits of the run.
    run_variables all{{"MPLBACKEND", "Agg"},
                      {"MPLCONFIGDIR", "/tmp/matplotlib"},
                      {"OPENBLAS_NUM_THREADS", "1"},
                      {"PYTHONDONTWRITEBYTECODE", "1"}};
    // A file named json.py must not stand in for the standard library; -I sees to that elsewhere.
    if (home == python_home::sandbox) all.emplace_back("PYTHONSAFEPATH", "1");
    return all;
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
    for (auto& variable : python_variables(home)) request.environment.push_back(std::move(variable));
    request.result_channel = true;
    request.prepared = true;
}

void run_python(sandbox::run_request& request, python_home home, const std::string& interpreter, std::string code)
{
    start_python(request, home, interpreter);
    request.data_libraries = names_data_libraries(code);
    request.script = std::move(code);
}

}  // namespace cmcp
