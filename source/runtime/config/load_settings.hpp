#pragma once

#include "config/config_error.hpp"
#include "config/settings.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// KEY = value, as a source of settings says it.
struct assignment {
    std::string key;  ///< as written (a path with dots in config.toml)
    std::string value;
    std::string origin;  ///< "--set", "environment", "volume/config/custom.env:3"
};

using assignments = std::vector<assignment>;
using environment = std::map<std::string, std::string, std::less<>>;

/// Lines of `KEY=value`, `export KEY=value`, comments (#) and empty lines. Values may stand in single quotes (verbatim)
/// or double quotes (with \" \\ \n \t); elsewhere " #" starts a comment. `name` is for origins and messages.
/// Throws config_error with name and line.
assignments parse_env_file(std::string_view text, std::string_view name);

/// The keys of a TOML text as paths with dots, in the order of the text; arrays of plain values become comma lists.
/// The table `upstream` is left out.
/// Throws config_error with name and line.
assignments parse_toml_file(std::string_view text, std::string_view name);

/// The tables [upstream.NAME] of a TOML text, and the variables of the environment that their secrets are taken from.
struct upstream_list {
    std::vector<upstream_entry> entries;  ///< in the order of the text
    std::vector<std::string> secret_variables;
};

/// In values of headers and env `${env:NAME}` stands for a variable of `variables`, `${file:/path}` for the text of a
/// file. Throws config_error with key, name and line, and without values of headers and env.
upstream_list parse_upstreams(std::string_view text, std::string_view name, const environment& variables);

/// Where settings come from, the last of them wins: defaults, config.toml, custom.env, environment, command line.
struct settings_sources {
    assignments command_line;
    environment variables;
    std::optional<std::filesystem::path> env_file;  ///< must exist; nothing: CONTAINER_MCP_ENV, then the usual files
    std::optional<std::filesystem::path>
        toml_file;  ///< must exist; nothing: CONTAINER_MCP_CONFIG, then the usual files

    /// The usual files are volume/config/custom.env and config.toml in the working folder. A program that a client
    /// starts in some project's folder must not obey the files that lie there: it looks in
    /// $XDG_CONFIG_HOME/container-mcp (~/.config/container-mcp) instead.
    bool trust_working_folder = true;
};

struct loaded_settings {
    settings values;
    std::map<std::string, std::string, std::less<>>
        origins;                                  ///< by variable; a variable without an entry has its default
    std::vector<std::string> warnings;            ///< sentences
    std::vector<std::string> secret_variables{};  ///< of the environment, beside those of secret settings
};

/// Throws config_error.
loaded_settings load_settings(const settings_sources& from);

/// The files that load_settings() reads.
std::vector<std::filesystem::path> settings_files(const settings_sources& from);

/// This process's environment.
environment current_environment();

/// Creates SANDBOX_ROOT (mode 0700) when it is missing; throws config_error when it cannot be used.
void prepare_sandbox_root(const settings& config);

}  // namespace cmcp
