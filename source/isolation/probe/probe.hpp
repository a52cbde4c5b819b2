#pragma once

#include "jsonrpc/json.hpp"
#include "posix/unique_fd.hpp"
#include "probe/layer.hpp"

#include <cstdint>

namespace cmcp::sandbox {

/// The limit of processes that a probe run needs: the probe tries to pass it, and it should not take long.
inline constexpr std::uint64_t probe_processes = 16;

/// The payload of the probe run: finds out by trying what this process can do and writes one JSON object to `fd`. Call
/// it inside the finished sandbox, instead of the exec. Needs no /proc.
void report_probe(int fd);

/// Before the probe run's rules are in force: listens at a name by which the probe finds out whether the rules keep it
/// from sockets made outside them. Throws step_failed.
unique_fd make_outside_socket();

/// The facts of the launcher that a comparison needs: namespaces, uid, Landlock. Forks a short-lived child. The
/// launcher may add "cgroups" (controller to "cgroup v1" or "cgroup v2" where one holds runs, or to a sentence that
/// says why none does) and "watchdog" (true when it looks at memory, processes and time of a run by itself).
json::object launcher_facts();

/// The layers a run has, judged by what `inside` could do in comparison with `launcher`.
layers evaluate_probe(const json::object& inside, const json::object& launcher);

}  // namespace cmcp::sandbox
