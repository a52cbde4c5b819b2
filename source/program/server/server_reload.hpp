#pragma once

#include "config/load_settings.hpp"
#include "entrances/http_server.hpp"
#include "jsonrpc/json.hpp"
#include "server/application.hpp"
#include "server/service_notice.hpp"

#include <functional>
#include <string>
#include <vector>

namespace cmcp {
struct settings;
}  // namespace cmcp

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

/// A reload of the running server: settings, certificate and the log's file.
class server_reload {
public:
    /// All must outlive this.
    server_reload(settings_sources from, settings known, settings& in_use, application& app, http_server& server,
                  const service_notice& notice);

    /// Throws config_error when the settings cannot be used; certificate and log are read again all the same.
    settings_reload::report run();

    json::object for_caller();  ///< run(), for REST: throws http_refusal
    awaitable<> at_hangups();   ///< run() at each SIGHUP, until it is cancelled

private:
    void apply();

    settings& config_;
    application& app_;
    http_server& server_;
    const service_notice& notice_;
    settings_reload settings_;
};

}  // namespace cmcp::command
