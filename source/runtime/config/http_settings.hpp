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

    milliseconds header_timeout{10'000};  ///< these four: by HTTP_TIMEOUT
    milliseconds body_timeout{30'000};
    milliseconds write_timeout{30'000};
    milliseconds idle_timeout{120'000};
    std::size_t max_connections = 65'536;           ///< at once, where `ulimit -Hn` allows as many
    std::size_t max_sessions_per_address = 50'000;  ///< half of MCP_MAX_SESSIONS
    milliseconds keep_alive{15'000};                ///< a silent stream carries a comment so often
    milliseconds shed_delay{500};                   ///< calls are refused while requests wait longer for their turn
    std::size_t event_log_bytes = 1u << 20;         ///< messages that a session keeps for Last-Event-ID
    static constexpr std::size_t max_header_bytes = 16'384;
    static constexpr std::size_t json_depth = 64;  ///< nesting of a message
};

}  // namespace cmcp
