#pragma once

#include "zygote/interpreter.hpp"
#include "zygote/working_set.hpp"

#include "jail/seccomp_filter.hpp"
#include "jail/zygote_wire.hpp"

namespace cmcp::sandbox {

/// Makes the clones that the launcher orders. A clone is the launcher's own child: the zygote keeps nothing of it.
class nursery {
public:
    /// `needed`: the pages that a clone makes its own while it waits.
    nursery(interpreter& python, working_set needed, call_filters filters, int launcher, bool with_time_namespace);

    void serve();  ///< until the launcher is gone

private:
    void clone(packet order);
    [[noreturn]] void live(unique_fd control);

    interpreter& python_;
    working_set needed_;
    int launcher_;
    call_filters filters_;
    bool with_time_namespace_;
    std::uint64_t own_data_;  ///< bytes of private memory before any run
};

}  // namespace cmcp::sandbox
