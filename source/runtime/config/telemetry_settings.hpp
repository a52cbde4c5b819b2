#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: what goes to a collector (config/lists/telemetry.hpp).
struct telemetry_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/telemetry.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
