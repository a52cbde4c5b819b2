#pragma once

#include "config/upstream_entry.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// The configuration cannot be used; what() is one sentence for the user that names key, value, place and what is
/// allowed.
struct config_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The configuration: read once (config/load_settings.hpp), immutable afterwards. config/setting_list.hpp lists the
/// members with their variables, defaults, bounds and meanings.
struct settings {
    using milliseconds = std::chrono::milliseconds;
    using path = std::filesystem::path;
    using words = std::vector<std::string>;
    using tokens = std::vector<std::pair<std::string, std::string>>;  ///< name and token

    settings();  ///< the defaults

    /// Whether requests need credentials that say who asks.
    bool callers_have_names() const
    {
        return !auth_tokens.empty() || !auth_issuers.empty() || !auth_introspection_url.empty() || has_api_keys;
    }
    /// Whether there is an audit.
    bool keeps_audit() const { return audit == "on" || (audit == "auto" && callers_have_names()); }
    bool has_api_keys = false;  ///< at the start (container-mcp key)

    std::vector<upstream_entry> upstreams;  ///< [upstream.NAME] of config.toml, in its order

#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/setting_list.hpp"
#undef SETTING
#undef TOPIC
};

}  // namespace cmcp
