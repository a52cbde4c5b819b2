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
};

}  // namespace cmcp
