#pragma once

#include "jail/landlock.hpp"
#include "jail/namespaces.hpp"
#include "jail/seccomp_filter.hpp"
#include "jail/watchdog.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Everything the child needs to become a run; prepared by the launcher before the clone.
struct jail_plan {
    run_request request;
    bool probe = false;
    const bpf_program* announcing = nullptr;  ///< in place of the first filter where a listener is possible
    std::vector<const bpf_program*> filters;  ///< installed in this order
    landlock_rules rules;
    bool writable_may_execute = true;
    id_pair outside{};
    bool maps_itself = false;  ///< without privilege only the child may write its id maps
    unique_fd root;            ///< detached mount trees
    unique_fd workspace;       ///< none: an empty folder in memory
    unique_fd output, error, input, script, result;
    std::string apparmor;                       ///< the profile to enter; empty: none
    std::function<void()> before_fork = [] {};  ///< in process 1, once the jail is closed
    bool serves = false;                        ///< the first process of a lasting cell
    bool executes = true;      ///< false: the clone of an interpreter, which enters the profile without an exec
    int held_library = -1;     ///< of a program that is to be held, see held_program.hpp; the launcher's own
    unique_fd outside_socket;  ///< of a probe run, made before its rules were in force
    unique_fd control;         ///< the child's end of the socket to the launcher
};

/// Processes of a lasting cell that stand by, at most: the next program, and a shell that is held.
inline constexpr std::uint64_t most_standby = 2;
using standby_processes = std::array<int, most_standby>;

/// First byte of the child's messages over the control socket.
enum class child_says : char {
    ready = 'r',   ///< set up; with its processes, /tmp, /dev/shm and the statistics of its sockets (not where /proc is
                   ///< refused)
    listen = 'l',  ///< with the listener of refused calls
    failed = 'f',  ///< errno and name of the step; nothing was executed
    ended = 'e',   ///< wait status of the payload, its processor time (us), peak memory (bytes)
    inside = 'i',  ///< under Firejail: a pidfd of the first process of its PID namespace, and its own number there
    waiting = 'w',   ///< confined, waits for its start
    standby = 's',   ///< the first process of a lasting cell: the numbers of its standby processes; 0: none
    socket = 'o',    ///< the first process of a lasting cell: number of the question, errno; with the socket
    executes = 'x',  ///< a clone: the run is executed after all
};

/// Takes every step by which a process becomes the first one of a cell, once the launcher has said "g". Throws
/// step_failed.
usage_sources enter_jail(jail_plan& plan);

/// The part of process 2 of a run, once the jail is closed. It does not return; throws step_failed when it cannot be
/// done.
using guest = std::function<void()>;

/// The child's whole life, from the clone on. Waits for one packet on the control socket before it begins.
[[noreturn]] void run_child(jail_plan& plan);          ///< executes the program of the request
[[noreturn]] void run_waiting_child(jail_plan& plan);  ///< the same, once it is told which and with what
[[noreturn]] void run_child(jail_plan& plan, const guest& inside);

}  // namespace cmcp::sandbox
