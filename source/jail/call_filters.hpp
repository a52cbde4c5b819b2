#pragma once

#include "jail/seccomp_filter.hpp"
#include "wire/run_request.hpp"

#include <vector>

namespace cmcp::sandbox {

/// The system call filters, built once.
struct call_filters {
    explicit call_filters(bool memory_is_counted);
    std::vector<const bpf_program*> choose(const program_view& programs) const;
    const bpf_program* announcing(const program_view& programs) const;

    bool memory_is_counted;  ///< by a cgroup; otherwise only memory that processes map can be counted
    bpf_program general;
    bpf_program listed;  ///< under an allow-list
    bpf_program announcing_general;
    bpf_program announcing_listed;
    bpf_program uncounted;
};

}  // namespace cmcp::sandbox
