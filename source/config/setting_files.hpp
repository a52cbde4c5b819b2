#pragma once

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

/// Lines of `KEY=value`, `export KEY=value`, comments (#) and empty lines. Values may stand in single quotes (verbatim)
/// or double quotes (with \" \\ \n \t); elsewhere " #" starts a comment. `name` is for origins and messages.
/// Throws config_error with name and line.
assignments parse_env_file(std::string_view text, std::string_view name);

/// The keys of a TOML text as paths with dots, in the order of the text; arrays of plain values become comma lists.
/// Throws config_error with name and line.
assignments parse_toml_file(std::string_view text, std::string_view name);

}  // namespace cmcp
