#pragma once

#include "cell/cell_server.hpp"
#include "cell/held_shell.hpp"
#include "cell/session.hpp"
#include "jail/jail.hpp"
#include "wire/packet_socket.hpp"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace cmcp::sandbox {

/// A program of a lasting cell, seen from the cell's first process.
struct cell_program {
    pid_t process;  ///< and its session
    unique_fd control;
    run_outputs outputs{};
    unique_fd link{};  ///< of a shell that was held: its failures come there
    bool killed = false;
};

/// The children of a cell's first process that stand by for the next start: one that becomes any program, and after a
/// shell a held one. They are confined already. In a cell without starts nobody stands by for long.
class standby_programs {
public:
    using clock = std::chrono::steady_clock;

    /// Both must outlive this; `loaded` may be null.
    standby_programs(jail_plan& plan, const loaded_program* loaded) : plan_(plan), loaded_(loaded) {}

    /// Lets a child become what the order starts (cell_server.hpp). Throws; then the order keeps its descriptors.
    cell_program begin(packet& order);

    int link() const { return shell_ ? shell_->link() : -1; }  ///< to be watched; -1: none
    void hear();
    void lose(pid_t process);  ///< a child has ended, which may have stood by

    clock::time_point next_task() const { return std::min(refill_at_, rest_at_); }
    void look();  ///< at that time

private:
    std::optional<cell_program> begin_held(packet& order);
    cell_program begin_any(packet& order);
    bool hand_over(const packet& order) const;
    void expect_another(const packet& order);
    void forget_any();
    void forget_shell();
    void make_any();
    pid_t fork() const;
    [[noreturn]] void stand_by(unique_fd orders);
    [[noreturn]] void become_program(packet order);
    void refill();
    void rest();
    void tell() const;

    jail_plan& plan_;
    const loaded_program* loaded_;  // none: everything is executed
    pid_t any_ = 0;                 // the number of the child that becomes any program; 0: none
    unique_fd orders_;              // to it
    std::optional<held_shell> shell_;
    std::optional<held_kind> next_shell_;
    bool may_hold_ = true;
    clock::time_point refill_at_ = clock::time_point::max();
    clock::time_point rest_at_ = clock::time_point::max();
};

}  // namespace cmcp::sandbox
