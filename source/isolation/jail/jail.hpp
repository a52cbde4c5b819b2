#pragma once

#include "facilities/landlock.hpp"
#include "facilities/namespaces.hpp"
#include "jail/machine_root.hpp"
#include "jail/seccomp_filter.hpp"
#include "limits/watchdog.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"
#include "wire/run_result.hpp"
#include "wire/wire.hpp"

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Everything the child needs to become a run; prepared by the launcher before the clone.
struct jail_plan {
    run_request request;
    bool probe = false;
    const bpf_program* announcing = nullptr;  ///< instead of the first filter where a listener is possible
    std::vector<const bpf_program*> filters;  ///< installed in this order
    landlock_rules rules;
    unique_fd execution;  ///< from prepare_execution(); none: `rules` has all
    bool writable_may_execute = true;
    id_pair outside{};
    bool maps_itself = false;             ///< without privilege only the child may write its id maps
    unique_fd root;                       ///< detached mount trees
    unique_fd workspace;                  ///< none: an empty folder in memory
    unique_fd files;                      ///< those of run_request::files; none: there are none
    std::optional<machine_plan> machine;  ///< of a cell of this class
    unique_fd output, error, input, script, result;
    std::function<void()> before_root = [] {};  ///< in the cell, where the plan has no root yet
    std::string apparmor;                       ///< the profile to enter; empty: none
    bool lasts = false;                         ///< the cell serves one program after the other
    bool programs_confine = false;  ///< Firejail made the cell: each program gives up its privileges by itself
    bool executes = true;           ///< false: the clone of an interpreter, which enters the profile without an exec
    unique_fd outside_socket;       ///< of a probe run, made before its rules were in force
    std::vector<dev_t> own_memory;  ///< file systems that only the cell sees, once it has them
    unique_fd control;              ///< this process's end of its socket to the launcher
};

/// Programs of a lasting cell that stand by, at most: one that becomes any program, and a shell that is held.
inline constexpr std::uint64_t most_standby = 2;
using standby_processes = std::array<int, most_standby>;

/// First byte of the messages to the launcher. The first process of a cell says over its control socket:
enum class child_says : char {
    ready = 'r',   ///< set up; with its processes, /tmp, /dev/shm and the statistics of its sockets (not where /proc is
                   ///< refused)
    failed = 'f',  ///< errno and name of the step. A program says it, too: nothing of the caller was executed
    inside = 'i',  ///< under Firejail: a pidfd of the first process of its PID namespace, and its own number there
    program = 'p',  ///< number of a program that was ordered, its process; 0, errno and step: there is none
    ended = 'e',    ///< program_end of a program
    socket = 'o',   ///< number of the request, errno; with the socket
    refused = 'n',  ///< number of a program (0: one that has ended), a sentence: a call of it was refused
    doors = 'd',    ///< before any program is made; with the sockets (jail/doors.hpp)
    // A program says over its own:
    waiting = 'w',   ///< confined, waits for its start
    listen = 'l',    ///< with the listener of refused calls
    executes = 'x',  ///< a clone: the program is executed after all
};

/// The end of a program.
struct program_end {
    std::uint32_t number = 0;  ///< in its order
    int status = 0;            ///< wait status
    std::chrono::microseconds cpu{0};
    std::uint64_t peak_memory = 0;  ///< bytes
    bool out_of_processes = false;
    left_processes left{};
};

template <class Wire>
void fields(Wire& wire, wired<Wire, program_end>& end)
{
    wire(end.number, end.status, end.cpu, end.peak_memory, end.out_of_processes, end.left.hung_up, end.left.others);
}

/// Takes every step by which a process becomes the first one of a cell, once the launcher has said "g". Throws
/// step_failed.
usage_sources enter_jail(jail_plan& plan);

}  // namespace cmcp::sandbox
