#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: the record of what happened (config/lists/audit.hpp).
struct audit_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/audit.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
