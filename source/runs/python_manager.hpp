#pragma once

#include "runs/run_terms.hpp"
#include "wire/launcher_options.hpp"

#include <string>

namespace cmcp {

/// The policy of Python runs in a workspace: interpreter, programs and limits.
class python_manager {
public:
    python_manager(const settings& config, runner runs);

    /// Runs `code` as a script. run_outcome::end.result is the JSON text of the variable `_`, empty when it has none.
    awaitable<run_outcome> run(caller who, request_io& io, std::string code, run_options options);

    const std::string& interpreter() const { return interpreter_; }

    /// The options of a loaded interpreter (the program at `path`) that stands in for the runs of these settings.
    static sandbox::zygote_options zygote(const settings& config, std::string path);

private:
    std::string interpreter_;
    run_terms terms_;
    runner runs_;
};

}  // namespace cmcp
