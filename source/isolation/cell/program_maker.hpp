#pragma once

#include "cell/cell_orders.hpp"
#include "cell/cell_server.hpp"
#include "jail/jail.hpp"
#include "wire/packet_socket.hpp"

#include <sys/types.h>

namespace cmcp::sandbox {

/// Makes the programs of a cell: children of its first process that confine themselves and stand by for their start.
class program_maker {
public:
    /// Both must outlive this; `loaded` may be null.
    program_maker(jail_plan& plan, const loaded_program* loaded) : plan_(plan), loaded_(loaded) {}

    /// Returns its number. Throws step_failed, then there is no program.
    pid_t make(const program_order& order, std::vector<unique_fd> descriptors) const;

private:
    bool may_interpret(const program_order& order) const;
    pid_t fork() const;  ///< of an interpreter
    [[noreturn]] void live(const program_order& order, unique_fd link, int library) const;
    void confine(int library) const;
    void stand_by(const program_order& order) const;
    packet await_start(bool waits) const;

    jail_plan& plan_;
    const loaded_program* loaded_;  // none: everything is executed
};

}  // namespace cmcp::sandbox
