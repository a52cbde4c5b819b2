#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: sandboxes, with their networks, kernels, shells, packages and ports (config/lists/sandbox.hpp).
struct sandbox_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/sandbox.hpp"
#undef SETTING
#undef TOPIC

    milliseconds kernel_cpu_limit{
        std::chrono::hours(4)};    ///< processor time of a Python kernel, or a program's of a shell
    std::size_t max_kernels = 64;  ///< as SANDBOX_MAX_LIVE
    std::size_t max_shells = 64;   ///< the same
    milliseconds install_timeout{std::chrono::minutes(5)};  ///< of packages
    milliseconds preview_ttl{std::chrono::hours(24)};       ///< as SANDBOX_LINK_TTL
    std::size_t sandbox_tools_calls = 1000;                 ///< of tools, by the programs of one run
};

}  // namespace cmcp
