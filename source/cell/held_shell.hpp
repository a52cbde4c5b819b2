#pragma once

#include "jail/held_program.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <sys/types.h>

namespace cmcp::sandbox {

/// A shell that stands by in a lasting cell, held before its main(), seen from the cell's first process.
class held_shell {
public:
    /// Forks it, confined as the plan tells. Throws step_failed, std::system_error.
    held_shell(jail_plan& plan, held_kind kind);

    pid_t process() const { return process_; }
    int link() const { return link_.get(); }  ///< its messages come there

    void hear();  ///< takes those that come before its start
    bool waits_for(const start_message& start) const { return waits_ && held_kind_of(start.request) == kind_; }
    bool waits() const { return waits_; }

    /// Hands the start over, whose descriptors are a memory file, the program's control socket, and the program's own.
    /// False: the shell has gone, or the start does not fit. link() is the caller's then: later messages are failures.
    bool begin(const start_message& start, const packet& order);
    unique_fd take_link() { return std::move(link_); }

private:
    held_kind kind_;
    pid_t process_ = 0;
    unique_fd link_;
    unique_fd listener_;
    bool waits_ = false;
};

/// Passes the messages of a held shell that has begun on to its program's control socket.
void pass_on(const unique_fd& link, const unique_fd& control);

}  // namespace cmcp::sandbox
