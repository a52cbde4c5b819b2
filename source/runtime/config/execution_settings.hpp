#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: runs, files and which tools there are (config/lists/execution.hpp).
struct execution_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/execution.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
