#pragma once

#include "config/load_settings.hpp"
#include "jsonrpc/json.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cmcp::command {

/// Reads the sources of the settings again while the server runs, and changes those settings in use that may change.
class settings_reload {
public:
    struct report {
        std::vector<std::string> changed;        ///< in force from now on
        std::vector<std::string> needs_restart;  ///< those that differ from the ones in use

        json::object to_json() const;
    };

    /// `known`: what the sources said at the start. `in_use` must outlive this; `applies` is called after each change
    /// of it.
    settings_reload(settings_sources from, settings known, settings& in_use, std::function<void()> applies);

    /// Throws config_error when the settings cannot be used; nothing has changed then.
    report run();

private:
    settings_sources from_;
    settings& in_use_;
    std::function<void()> applies_;
    settings known_;  // with the changes since
};

}  // namespace cmcp::command
