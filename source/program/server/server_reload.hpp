#pragma once

#include "entrances/http_server.hpp"
#include "server/application.hpp"
#include "server/service_notice.hpp"
#include "server/settings_reload.hpp"

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

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
