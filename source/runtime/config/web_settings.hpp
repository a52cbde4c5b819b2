#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: the web tools, and where they may go (config/lists/web.hpp).
struct web_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/web.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
