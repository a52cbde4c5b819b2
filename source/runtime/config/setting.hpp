#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct settings;

/// A row of the table of settings. The program and its documents know nothing else of a variable.
struct setting {
    std::string_view topic;       ///< heading in the documents
    std::string_view name;        ///< the variable, for example BASH_TIMEOUT_MAX
    std::string_view by_default;  ///< in a form that parse accepts; empty: the member stays empty
    bool secret;                  ///< never printed
    bool live;                    ///< a reload applies a change
    std::function<void(settings&, std::string_view)> parse;  ///< throws bad_value (config/setting_kinds.hpp)
    std::function<std::string(const settings&)> print;       ///< in a form that parse accepts
    std::string_view description;                            ///< one line
    std::string_view toml;  ///< a further key in config.toml, for example "server.port"
};

/// All of them, in the order of the documents.
const std::vector<setting>& setting_table();

/// nullptr when there is none. Upper or lower case.
const setting* find_setting(std::string_view name);

/// The row whose name (or further TOML key) is `path` ("server.port", "bash.timeout_max", "bash_timeout_max").
const setting* find_toml_setting(std::string_view path);

/// The known name that is least typing away from `name`.
std::string_view nearest_setting(std::string_view name);

}  // namespace cmcp
