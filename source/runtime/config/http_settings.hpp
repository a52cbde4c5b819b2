#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: the listener, TLS, connections and sessions (config/lists/http.hpp).
struct http_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/http.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
