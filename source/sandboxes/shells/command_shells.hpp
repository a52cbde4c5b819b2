#pragma once

#include "sandboxes/sandbox_runner.hpp"
#include "shells/command_shell.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct settings;

/// The shells in which commands keep folder, variables and functions, at most one for a sandbox. A shell ends with its
/// sandbox, when that is stopped, and unused to make room for another of the same caller. Throws sandbox_error. Io
/// thread only.
class command_shells {
public:
    command_shells(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                   sandbox_runner& runs);
    ~command_shells();

    /// Calls in one shell take turns. The note of the run says what became of the shell, where the command did not end
    /// by itself.
    awaitable<sandbox_outcome> run(caller who, request_io& io, sandbox_record where, std::string command,
                                   run_options options);

    struct summary {
        std::string sandbox;
        std::string owner;
        bool busy = false;
        double started = 0;  ///< seconds since 1970
    };
    std::vector<summary> living() const;
    bool is_idle(const std::string& id) const;  ///< that of a sandbox lives, and no call uses it

    awaitable<> end(std::string id);  ///< that of a sandbox
    awaitable<> stop();

private:
    struct kept;

    std::shared_ptr<kept> shell_of(const sandbox_record& where);
    awaitable<> make_room(std::string owner);
    void start(kept& one, const sandbox_record& where);
    awaitable<sandbox_outcome> take_turn(caller who, request_io& io, sandbox_record where, std::string command,
                                         run_options options);
    awaitable<> look_at_limit(run_outcome& run, std::string id);
    awaitable<run_outcome> run_once(std::shared_ptr<command_shell> shell, caller who, request_io& io,
                                    sandbox_record where, std::string command, run_options options,
                                    run_admission::slot* place, command_answer& answer);

    const settings& config_;
    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    std::map<std::string, std::shared_ptr<kept>> shells_;  // by sandbox
};

}  // namespace cmcp
