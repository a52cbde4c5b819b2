#pragma once

#include "config/settings.hpp"
#include "jsonrpc/json.hpp"
#include "sandbox/native_backend.hpp"

namespace cmcp::command {

/// The launcher while it has no backend yet: started before the first thread of this process.
struct started_sandbox {
    sandbox::native_backend::options chosen;
    sandbox::launcher_process launcher;
};

/// Throws config_error when the launcher program is not found or does not start.
started_sandbox start_sandbox(const settings& chosen);

/// Confines this process to what the server needs, where SERVER_CONFINE says so, and adds that to the report. After
/// start_sandbox, before the first thread.
void confine_this_process(started_sandbox& started, const settings& chosen);

/// Throws config_error with the layers and what to do when one that SANDBOX_REQUIRE names is missing.
void refuse_missing_layers(const sandbox::layers& found, const settings& chosen);

/// [{name, state, detail}]
json::array layers_json(const sandbox::layers& found);

}  // namespace cmcp::command
