#pragma once

#include "config/config_error.hpp"
#include "config/setting_files.hpp"
#include "config/settings.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

using environment = std::map<std::string, std::string, std::less<>>;

/// Where settings come from, the last of them wins: defaults, config.toml, custom.env, environment, command line.
struct settings_sources {
    assignments command_line;
    environment variables;
    std::optional<std::filesystem::path> env_file;  ///< must exist; nothing: CONTAINER_MCP_ENV, then the usual places
    std::optional<std::filesystem::path>
        toml_file;  ///< must exist; nothing: CONTAINER_MCP_CONFIG, then the usual places

    /// The usual places are volume/config/custom.env and config.toml in the working folder. A program that a client
    /// starts in some project's folder must not obey the files that lie there: it looks in
    /// $XDG_CONFIG_HOME/container-mcp (~/.config/container-mcp) instead.
    bool trust_working_folder = true;
};

struct loaded_settings {
    settings values;
    std::map<std::string, std::string, std::less<>>
        origins;                        ///< by variable; a variable without an entry has its default
    std::vector<std::string> warnings;  ///< sentences
};

/// Throws config_error.
loaded_settings load_settings(const settings_sources& from);

/// This process's environment.
environment current_environment();

/// Creates SANDBOX_ROOT (mode 0700) when it is missing; throws config_error when it cannot be used.
void prepare_sandbox_root(const settings& config);

}  // namespace cmcp
