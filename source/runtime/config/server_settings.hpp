#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: what all parts of the server ask for (config/lists/server.hpp).
struct server_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/server.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
