#pragma once

#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <sys/types.h>

#include <memory>
#include <vector>

namespace cmcp::sandbox {

/// The processes of one PID namespace by their sessions (credentials(7)), for its first process.
class session_list {
public:
    /// `processes`: a /proc of the namespace that hides none. The folder is opened before Landlock would refuse it.
    /// Throws step_failed.
    explicit session_list(unique_fd processes);

    /// Tells every process of the session to end with its terminal, as a shell's end does.
    void hang_up(pid_t session) const;

    /// Kills every process of the session, until none is left. False: some cannot be killed.
    bool kill(pid_t session) const;

    std::size_t count(pid_t session) const { return living(session).size(); }

private:
    std::vector<unique_fd> living(pid_t session) const;

    std::unique_ptr<DIR, int (*)(DIR*)> entries_;
};

}  // namespace cmcp::sandbox
