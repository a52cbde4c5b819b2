#pragma once

#include "wire/run_request.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The Python interpreter of this process, started as `argv` says and then given `program` as its -c, but with the time
/// between the two at our disposal. One object a process.
class interpreter {
public:
    /// Throws std::runtime_error with a sentence when this interpreter cannot stand in for argv.
    interpreter(const std::vector<std::string>& argv, const std::string& program);
    interpreter(const interpreter&) = delete;
    interpreter& operator=(const interpreter&) = delete;

    /// Loads the modules of `profile` and readies everything for clones. Returns JSON: python, modules, missing.
    /// Throws std::runtime_error when the modules leave threads or descriptors behind, which no clone could have.
    std::string preload(const std::string& profile);

    void before_fork();        ///< in the process that forks
    void parent_after_fork();  ///< there, where it goes on to fork
    void after_fork();         ///< in its child: renews the state that must differ from other runs'

    /// Becomes what argv and environment of `run` start: sys.argv and flags, os.environ, where the user's own packages
    /// lie.
    void take(const run_request& run);

    /// Whether packages of the run would be imported instead of, or by, compiled modules that are loaded already;
    /// where they are not compiled, they are forgotten. Executes nothing of the run's.
    bool meets_other_packages();

    /// Runs the code of -c with descriptors 0 to 2 as standard streams, ends as Python does. Where that is nothing but
    /// the end of the process any more, `before_end` is called with the exit code.
    [[noreturn]] void run(void (*before_end)(int status));
};

}  // namespace cmcp::sandbox
