#pragma once

#include "kernels/kernel_process.hpp"
#include "kernels/kernel_transfer.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

class sandbox_packages;
struct settings;

enum class kernel_language { python, javascript };

/// A kernel of a sandbox: by name, which is empty for the sandbox's own, and its language for as long as it lasts.
struct kernel_choice {
    std::string name;
    kernel_language language = kernel_language::python;
};

/// The end of a piece of code in a kernel.
struct kernel_outcome {
    sandbox_outcome done;
    std::optional<json::value> result;  ///< value of the last expression
    bool result_is_repr = false;        ///< as text, because JSON would not give the value back
    std::string late_output;            ///< what earlier calls' code printed since the call before
    json::array displays;               ///< {"mime_types", "files": {type: path}, "is_result"?} of what it showed
    std::string note;                   ///< the end of the kernel, when it has ended
};

/// A new sandbox and the state that its kernel took over; no state where the old sandbox had no living kernel.
struct kernel_fork {
    sandbox_record where;
    std::optional<kernel_transfer> state;
};

/// Kernels, of Python but for named ones of other languages: a sandbox's own, which has no name, and further ones with
/// a name. A kernel keeps variables, imports and open figures from call to call, and ends with the sandbox, when that
/// is stopped, by its limits, or unused to make room for another. Throws sandbox_error. Io thread only.
class kernel_manager {
public:
    kernel_manager(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                   sandbox_runner& runs);
    ~kernel_manager();

    /// Packages that code asks for are installed by `packages`; before the first call.
    void use(sandbox_packages& packages) { packages_ = &packages; }

    /// Calls on one kernel take turns.
    awaitable<kernel_outcome> execute(caller who, request_io& io, sandbox_record where, std::string code,
                                      run_options options);

    /// The same for a message, of about `bytes`, of kernel_process::converse() to a kernel. Its cells
    /// have the time of a job (SANDBOX_JOB_TIMEOUT) and a place among the jobs. `reason` of the answer: how the kernel
    /// ended with it.
    awaitable<kernel_answer> converse(caller who, request_io& io, sandbox_record where, kernel_choice which,
                                      json::object message, std::size_t bytes, kernel_listener& to);

    /// A copy of the sandbox (sandbox_manager::fork) with a kernel in the state of the old one's, which runs nothing
    /// meanwhile. Where only the state could not be copied, the new sandbox stays and the result says why.
    awaitable<kernel_fork> fork(caller who, request_io& io, sandbox_record from, std::string name);

    /// A kernel that lives.
    struct view {
        std::string sandbox;
        std::string name;  ///< empty: the sandbox's own
        std::string owner;
        bool busy = false;
        double started = 0;  ///< seconds since 1970
    };
    std::vector<view> list() const;

    std::size_t idle_in(const std::string& id) const;  ///< kernels of a sandbox that live and run nothing

    /// Ends a kernel, whose caller is told `why` (a sentence's part behind "because"). False: there is none.
    awaitable<bool> end_kernel(std::string sandbox, std::string name, std::string why);

    bool interrupt(const std::string& id, const std::string& name = {});  ///< false: nothing runs

    /// Before all kernels of a sandbox end for now: where one runs nothing, its variables are written to the sandbox,
    /// and are back in the kernel that starts next. `why`: a sentence without its stop, for the result that finds it
    /// started anew. Gives what was not written, a phrase; empty: nothing.
    awaitable<std::string> keep(std::string id, std::string why);
    awaitable<> end(std::string id);  ///< all kernels of a sandbox

    /// A copy of the workspace for a backup (sandbox_manager::copy_aside), in which the variables of kernels are kept
    /// that are free within five seconds; those kernels wait meanwhile.
    struct kept_copy {
        std::filesystem::path folder;
        std::size_t kept = 0;  ///< kernels whose variables are in it
        std::size_t busy = 0;  ///< kernels that ran code all the time, or did not answer: theirs are not
    };
    awaitable<kept_copy> copy_aside(sandbox_record of);

    /// Ends the kernel; the next one has its variables or forgets them. False: there was no kernel.
    awaitable<bool> restart(sandbox_record where, bool keep_variables, std::string name = {});
    awaitable<> stop();  ///< the variables of sandboxes' own kernels are kept, as by keep()

private:
    struct kernel;

    std::shared_ptr<kernel> kernel_of(const sandbox_record& where, const std::string& name = {});
    std::shared_ptr<kernel> living(const std::string& id) const;  // a sandbox's own; null: none
    std::vector<std::shared_ptr<kernel>> all_of(const std::string& id) const;
    awaitable<> revive(std::shared_ptr<kernel> one, request_io& io, sandbox_record where);
    static std::string loss_before(kernel& one, const json::object& earlier);
    static std::string of_kernel(const kernel& one);  // words
    std::uint64_t room_for_state(const std::string& owner) const;
    static void forget_kept(const std::filesystem::path& workspace, const std::vector<std::string>& folders);
    awaitable<std::string> keep_state(std::shared_ptr<kernel> one, std::string why);
    awaitable<> keep_at_end(std::shared_ptr<kernel> one);
    awaitable<std::string> keep_one(std::shared_ptr<kernel> one, std::string why);
    awaitable<> end_one(std::shared_ptr<kernel> one);
    static awaitable<> tell_caller(request_io& io, log_severity level, std::string sentence);
    std::size_t count(const std::string* owner) const;  // that live; null: of all callers
    std::string why_full(const std::string& owner) const;
    std::shared_ptr<kernel> longest_unused(const std::string& owner) const;
    awaitable<> make_room(std::string owner, request_io& io);
    void limit(sandbox::run_request& request, std::chrono::milliseconds wall) const;
    void start(kernel& one, const sandbox_record& where);
    awaitable<kernel_fork> copy(caller who, request_io& io, sandbox_record from, std::string name,
                                std::shared_ptr<kernel> one);
    awaitable<kernel_transfer> carry(std::shared_ptr<kernel> from, request_io& io, sandbox_record to);
    awaitable<kernel_outcome> take_turn(caller who, request_io& io, sandbox_record where, std::string code,
                                        run_options options);
    awaitable<kernel_outcome> run(std::shared_ptr<kernel> one, caller who, request_io& io, sandbox_record where,
                                  std::string code, run_options options, run_admission::slot* place);
    awaitable<kernel_answer> converse_in_turn(caller who, request_io& io, sandbox_record where, kernel_choice which,
                                              json::object message, std::size_t bytes, kernel_listener& to);
    awaitable<run_outcome> run_once(std::shared_ptr<kernel_process> process, caller who, request_io& io,
                                    sandbox_record where, std::string code, run_options options,
                                    run_admission::slot* place, kernel_answer& answer);
    kernel_questions answers_for(caller who, request_io& io, sandbox_record where, kernel_listener* person = nullptr);
    awaitable<json::object> install(caller who, request_io& io, sandbox_record where, std::vector<std::string> names);

    const settings& config_;
    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    sandbox_packages* packages_ = nullptr;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<kernel>> kernels_;  // by sandbox and name
};

}  // namespace cmcp
