#pragma once

#include "config/settings.hpp"
#include "managers/kernel_process.hpp"
#include "managers/sandbox_runner.hpp"

#include <map>
#include <memory>
#include <string>

namespace cmcp {

/// How a piece of code ended in a kernel.
struct kernel_outcome {
    sandbox_outcome done;
    std::optional<json::value> result;  ///< value of the last expression
    std::string note;                   ///< what became of the kernel, when something did
};

/// A Python kernel for each sandbox that asks for one: it keeps variables, imports and open figures from call to call,
/// and ends with the sandbox, when that is stopped, or by its limits. Throws sandbox_error. Io thread only.
class kernel_manager {
public:
    kernel_manager(const settings& chosen, asio::any_io_executor executor, sandbox::backend& backend,
                   sandbox_runner& runs, output_store& outputs, run_admission& admission, blocking_pool& pool);
    ~kernel_manager();

    /// Calls on one kernel take turns.
    awaitable<kernel_outcome> execute(caller who, request_io& io, sandbox_record where, std::string code,
                                      run_options options);

    bool interrupt(const std::string& id);      ///< false: nothing runs
    awaitable<bool> end(std::string id);        ///< false: there was no kernel
    awaitable<> stop();

private:
    struct kernel;

    std::shared_ptr<kernel> kernel_of(const sandbox_record& where);
    awaitable<> start(std::shared_ptr<kernel> one, sandbox_record where);
    awaitable<kernel_outcome> take_turn(caller who, request_io& io, sandbox_record where, std::string code,
                                        run_options options);
    awaitable<kernel_outcome> run(std::shared_ptr<kernel> one, request_io& io, sandbox_record where, std::string code,
                                  run_options options);

    const settings& chosen_;
    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    output_store& outputs_;
    run_admission& admission_;
    blocking_pool& pool_;
    std::map<std::string, std::shared_ptr<kernel>> kernels_;
};

}  // namespace cmcp
