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

    static constexpr std::size_t web_browser_max_content = 1u << 20;  ///< bytes of a page in an answer
    static constexpr milliseconds web_browser_timeout_max{120'000};   ///< that a call of web_browse can ask for
};

}  // namespace cmcp
