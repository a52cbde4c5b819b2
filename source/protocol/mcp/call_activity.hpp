#pragma once

#include <cstddef>
#include <string>

namespace cmcp {

/// The output of a run that goes on.
class live_output {
public:
    virtual ~live_output() = default;
    virtual std::string newest(std::size_t most) const = 0;  ///< bytes of the stream that printed last
};

/// The state of a call, as an administrator sees it. The run of the call keeps it true.
struct call_activity {
    bool waits = false;                   ///< for a slot among the runs
    const live_output* output = nullptr;  ///< null: no run prints
};

}  // namespace cmcp
