#pragma once

#include "config/settings.hpp"
#include "runs/runner.hpp"
#include "wire/zygote_options.hpp"

#include <string>

namespace cmcp {

/// The policy of Python runs in a workspace: interpreter, programs and limits.
class python_manager {
public:
    python_manager(const settings& chosen, runner runs);

    /// Runs `code` as a script. run_outcome::end.result is the JSON text of the variable `_`, empty when it has none.
    awaitable<run_outcome> run(caller who, request_io& io, std::string code, run_options options);

    const std::string& interpreter() const { return interpreter_; }

    /// What a zygote at `path` must be like to stand in for the runs of these settings.
    static sandbox::zygote_options zygote(const settings& chosen, std::string path);

private:
    sandbox::run_request request(std::string code, const run_options& options) const;

    std::string interpreter_;
    sandbox::program_view programs_;
    sandbox::run_limits limits_;
    std::chrono::milliseconds timeout_default_;
    std::chrono::milliseconds timeout_max_;
    std::chrono::milliseconds job_timeout_;
    runner runs_;
};

}  // namespace cmcp
