#pragma once

#include "posix/unique_fd.hpp"

#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Calls on sockets that the first process of a cell carries out for a program. The launcher hears of them
/// (refusal_listener.hpp) and hands them over.
///
/// UNIX sockets with names, between programs of one cell: a program outside may listen in the workspace, so no program
/// of a cell ever has a socket that the kernel would still connect. What socket() gives is one end of a pair whose
/// other end is closed. To bind or connect it the first process makes another socket, which replaces it.
///
/// Sockets that read the network's interfaces (rtnetlink(7)): few, because the kernel counts nowhere what waits in
/// them.
namespace cmcp::sandbox {

/// A call that waits for its answer. All of it is a copy: the caller cannot change it any more.
struct local_call {
    enum class kind : std::uint8_t { make, bind, connect };

    kind what = kind::make;
    std::uint64_t id = 0;               ///< of the kernel's notice
    std::int32_t family = 0, type = 0;  ///< of make
    std::int32_t number = -1;           ///< of the descriptor in the caller; -1: make
    bool waits = true;                  ///< the caller's descriptor blocks
    bool ends_at_exec = false;
    std::uint32_t mask = 0;  ///< umask(2)
    std::string address;     ///< sockaddr_un::sun_path, as long as the caller said
    unique_fd listener;
    unique_fd folder;  ///< the caller's working folder; none: make
    unique_fd socket;  ///< that is replaced; none: make
};

/// The call of a notice. Nothing: it is another call, which the kernel may carry out itself. `error` instead of a
/// call where it cannot be read.
struct decoded_call {
    std::optional<local_call> call;
    int error = 0;
};
std::optional<decoded_call> decode_local_call(const seccomp_notif& notice, const unique_fd& listener);

bool still_waits(int listener, std::uint64_t id);

/// Answers a notice: `error` is an errno, or 0 for a call that returns 0.
void answer_call(int listener, std::uint64_t id, int error);

/// Lets the call return a copy of `socket`, as the descriptor or instead of the descriptor that it named.
void answer_with(const local_call& call, int socket);

}  // namespace cmcp::sandbox
