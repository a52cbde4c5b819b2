#pragma once

#include "config/setting_types.hpp"

#include <algorithm>
#include <string_view>

namespace cmcp {

/// Settings: runs, files and which tools there are (config/lists/execution.hpp).
struct execution_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/execution.hpp"
#undef SETTING
#undef TOPIC

    bool requires_layer(std::string_view name) const
    {
        return std::find(sandbox_require.begin(), sandbox_require.end(), name) != sandbox_require.end();
    }

    /// Whether callers may make sandboxes of class machine, and whether these may mount and make namespaces.
    bool allows_machines() const { return sandbox_backend == "native" && !requires_layer("strict"); }
    bool allows_nesting() const { return allows_machines() && requires_layer("nesting"); }

    std::uint64_t output_hard_limit = 64u << 20;  ///< output of a stream that ends a run
    std::size_t max_jobs = 0;                     ///< runs in the background at once; 0: as many as others
    std::size_t python_zygote_waiting = 2;        ///< as SANDBOX_WAITING
    std::size_t python_zygote_runs = 1000;        ///< clones that one loaded interpreter makes at most
};

}  // namespace cmcp
