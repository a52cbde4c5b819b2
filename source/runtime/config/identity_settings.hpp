#pragma once

#include "config/setting_types.hpp"

namespace cmcp {

/// Settings: who asks, and how that is known (config/lists/identity.hpp).
struct identity_settings : setting_types {
#define TOPIC(title) static_assert(true)
#define SETTING(variable, type, member, ...) \
    type member {}
#include "config/lists/identity.hpp"
#undef SETTING
#undef TOPIC

    /// What a login at /ui asks for.
    std::string auth_ui_scopes = "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web mcp:admin";

    /// Whether requests need credentials that say who asks.
    bool callers_have_names() const
    {
        return !auth_tokens.empty() || !auth_issuers.empty() || !auth_introspection_url.empty() || has_api_keys;
    }
    bool has_api_keys = false;  ///< at the start (container-mcp key)
};

}  // namespace cmcp
