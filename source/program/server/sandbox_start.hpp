#pragma once

#include "audit/writer.hpp"
#include "sandbox/native_backend.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cmcp {
struct settings;
}  // namespace cmcp

namespace cmcp::command {

/// The launcher before it has a backend, because it starts before the first thread of this process.
struct started_sandbox {
    sandbox::native_backend::options options;
    sandbox::launcher_process launcher;
};

/// Throws config_error when the launcher program is not found or does not start.
started_sandbox start_sandbox(const settings& config);

/// Confines this process to what the server needs, where SERVER_CONFINE says so, and adds that to the report. After
/// start_sandbox, before the first thread and before a folder is opened that lies in none of the server's places.
/// `read_again`: files that a reload reads. The thread of the audit, where there is one, begins before, because it
/// reaches other places than the rest.
void confine_this_process(started_sandbox& started, const settings& config, audit::writer* audit,
                          const std::vector<std::filesystem::path>& read_again = {});

/// The names of SANDBOX_REQUIRE; without browser_sandbox where there is no browser.
std::vector<std::string> required_layers(const sandbox::layers& layers, const settings& config);

/// Throws config_error with the layers and what to do when one that SANDBOX_REQUIRE names is missing.
void refuse_missing_layers(const sandbox::layers& layers, const settings& config);

}  // namespace cmcp::command
