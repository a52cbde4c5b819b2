#pragma once

#include "posix/unique_fd.hpp"
#include "wire/run_result.hpp"

#include <dirent.h>
#include <sys/types.h>

#include <memory>
#include <vector>

namespace cmcp::sandbox {

/// The pipes that a program writes to, by their inodes; 0: it is none.
struct run_outputs {
    ino_t out = 0, error = 0;

    static run_outputs of(int out, int error);  ///< descriptors
    bool has(ino_t pipe) const { return pipe != 0 && (pipe == out || pipe == error); }
};

/// The processes of one PID namespace by their sessions (credentials(7)), for its first process.
class session_list {
public:
    /// `processes`: a /proc of the namespace that hides none. The folder is opened before Landlock would refuse it.
    /// Throws step_failed.
    explicit session_list(unique_fd processes);

    /// Tells each process of the session that still has one of the outputs, or a terminal, to end, as a terminal's end
    /// does. Others have been detached: some programs, such as Node, undo what nohup does.
    void hang_up(pid_t session, const run_outputs& outputs) const;

    /// Kills the processes of the session, until none is left but those that nohup has put away, which print elsewhere,
    /// and their children. False: some cannot be killed.
    bool kill(pid_t session, const run_outputs& outputs) const;

    left_processes count(pid_t session, const run_outputs& outputs) const;

private:
    struct member {
        pid_t process;
        unique_fd pidfd;
    };
    std::vector<member> living(pid_t session) const;
    std::vector<member> to_be_killed(pid_t session, const run_outputs& outputs) const;

    std::unique_ptr<DIR, int (*)(DIR*)> entries_;
};

}  // namespace cmcp::sandbox
