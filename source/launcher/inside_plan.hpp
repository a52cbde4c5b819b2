#pragma once

#include "jail/jail.hpp"
#include "wire/packet_socket.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// A plan as it arrives inside, with what it only points to elsewhere.
struct inside_plan {
    jail_plan plan;
    std::vector<bpf_program> filters;
    bpf_program announcing;
    std::string namespaces_outside;  ///< JSON
};

/// Filters and all. Goes in a memfd, because a command may be longer than a packet.
std::string encode_inside_plan(const jail_plan& plan, const std::string& namespaces_outside);

/// `message` carries the memfd and the run's own descriptors. Throws step_failed. Points into `into`: do not move it.
void decode_inside_plan(packet message, inside_plan& into);

/// Standard output, standard error, [input], [script], [result channel].
std::vector<int> inside_descriptors(const jail_plan& plan);

}  // namespace cmcp::sandbox
