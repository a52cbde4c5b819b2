#pragma once

#include "runs/runner.hpp"
#include "wire/launcher_options.hpp"
#include "wire/run_request.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

struct execution_settings;

/// The surroundings of a Python run.
enum class python_home {
    none,     ///< the machine's packages alone
    sandbox,  ///< also the packages installed in the sandbox; figures that are shown become files
};

/// Adds the environment variables of Python runs.
void add_python_variables(sandbox::run_request& request, python_home home);

/// Has Python that a command starts print at once, so that nothing is lost when it is ended, and find what this project
/// gives it (sandbox::given_folder): the module of tools, and what it loads first, by which figures that are shown
/// become files. After all other variables.
void add_given_python(sandbox::run_request& request);

/// The arguments that start `interpreter` with a program of ours, given by -c.
std::vector<std::string> python_arguments(python_home home, std::string interpreter, std::string program,
                                          std::vector<std::string> arguments = {});

/// Makes `request` run code, its script, by our bootstrap. The one description of such a run, whichever tool asks for
/// it: a cold run executes it, and a clone of the loaded interpreter becomes what it says. To be called once the path
/// of the workspace inside is settled.
void start_python(sandbox::run_request& request, python_home home, const std::string& interpreter);

/// The same, with the code of a caller.
void run_python(sandbox::run_request& request, python_home home, const std::string& interpreter, std::string code);

/// The policy of Python runs that have the programs of BASH_ALLOWED_COMMANDS: interpreter, programs and limits.
class python_manager {
public:
    explicit python_manager(const execution_settings& config);

    /// A sentence for code that cannot be run; empty: it can.
    static std::string problem(const std::string& code);

    /// Makes `request` run `code` as a script. run_outcome::end.result is the JSON text of the variable `_`, empty when
    /// it has none.
    void start(sandbox::run_request& request, std::string code, const run_options& options) const;

    const std::string& interpreter() const { return interpreter_; }
    const run_terms& terms() const { return terms_; }

    /// The options of a loaded interpreter (the program at `path`) that stands in for the runs of these settings.
    static sandbox::zygote_options zygote(const execution_settings& config, std::string path);

private:
    std::string interpreter_;
    run_terms terms_;
};

}  // namespace cmcp
