#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: requests, tasks and results (config/lists/protocol.hpp).
struct protocol_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/protocol.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
