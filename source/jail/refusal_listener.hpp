#pragma once

#include "posix/unique_fd.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// A call that a run tried in vain.
struct refusal {
    std::string what;     ///< a system call's name, or a destination; empty: nothing worth telling
    bool deadly = false;  ///< a call of a foreign architecture: not answered, the caller has to end the run
};

/// Hears of the calls that a filter made by announce_refusals() refuses, and answers them (seccomp_unotify(2)). The
/// calling thread waits for the answer: a few microseconds. Refused calls fail with EPERM as without a listener; a
/// connect goes on to the kernel, which knows no way out; its destination is only noted.
class refusal_listener {
public:
    refusal_listener() = default;
    explicit refusal_listener(unique_fd listener);  ///< what install_announcing_filter() returned, in whatever process

    explicit operator bool() const { return static_cast<bool>(listener_); }
    int readable() const { return listener_.get(); }

    /// Answers one call, where one waits. Nothing: none waits. `over`: no filtered process is left, none ever will.
    std::optional<refusal> answer(bool& over);

private:
    unique_fd listener_;
    std::vector<std::byte> call_, reply_;  // as long as this kernel's structures are
};

}  // namespace cmcp::sandbox
