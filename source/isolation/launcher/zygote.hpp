#pragma once

#include "facilities/namespaces.hpp"
#include "jail/zygote_wire.hpp"
#include "posix/unique_fd.hpp"
#include "wire/launcher_options.hpp"

#include <optional>
#include <span>
#include <string>

namespace cmcp::sandbox {

/// The jail of a zygote: mounts of its own and no capability.
struct zygote_home {
    unique_fd root;                  ///< detached: the view of a run that may execute everything
    bool forbids_privileges = true;  ///< by no_new_privs, after which a clone could not enter an AppArmor profile
};

/// A zygote process, seen from the launcher, whose child it is. Ends with the object.
class zygote {
public:
    /// Starts the program in its jail. Throws step_failed; a step inside that fails is heard as `failed`.
    zygote(const zygote_options& options, const zygote_home& home, const zygote_setup& setup);
    zygote(const zygote&) = delete;
    zygote& operator=(const zygote&) = delete;
    ~zygote();

    int socket() const { return socket_.get(); }

    struct message {
        zygote_says kind;
        std::string text;  ///< ready: JSON; failed: a sentence
        cloned child;      ///< cloned
        int error = 0;     ///< refused
    };
    /// The zygote's next message; nothing: no more for now. A zygote that is gone has `failed`.
    std::optional<message> hear();

    /// Orders a clone; false: it cannot be asked.
    bool order(std::span<const int> descriptors);

private:
    std::string describe_end();

    unique_fd pidfd_;
    unique_fd socket_;
};

}  // namespace cmcp::sandbox
