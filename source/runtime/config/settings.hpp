#pragma once

#include "config/audit_settings.hpp"
#include "config/cluster_settings.hpp"
#include "config/execution_settings.hpp"
#include "config/http_settings.hpp"
#include "config/identity_settings.hpp"
#include "config/protocol_settings.hpp"
#include "config/sandbox_settings.hpp"
#include "config/server_settings.hpp"
#include "config/telemetry_settings.hpp"
#include "config/upstream_entry.hpp"
#include "config/web_settings.hpp"

#include <vector>

namespace cmcp {

/// The configuration: read once (config/load_settings.hpp), immutable afterwards. It is for those who wire the parts; a
/// part asks for its own settings, as `const http_settings&`.
struct settings : server_settings,
                  identity_settings,
                  http_settings,
                  protocol_settings,
                  telemetry_settings,
                  audit_settings,
                  execution_settings,
                  web_settings,
                  sandbox_settings,
                  cluster_settings {
    settings();  ///< the defaults

    /// Whether there is an audit.
    bool keeps_audit() const { return audit == "on" || (audit == "auto" && callers_have_names()); }

    std::vector<upstream_entry> upstreams;  ///< [upstream.NAME] of config.toml, in its order
};

}  // namespace cmcp
