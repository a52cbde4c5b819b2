#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// Each setting is described once, as a row of a list in config/lists/. A list belongs to the part of the program that
// asks for its settings, so that a new one compiles that part and those who wire it. What two parts ask for stands in
// the list of the lower one. A list has no include guard, because its struct (config/http_settings.hpp) makes members
// of the rows and setting.cpp makes the table of them.
//
//   TOPIC(heading in docs/configuration.md)
//   SETTING(variable, type, member, default, kind, description[, further key in config.toml])
// A kind in live(…) has a value that a reload of the running server changes.
//
// The default is text as a user would write it, in the unit of the variable; "" leaves the member empty. The kind
// (setting_kinds.hpp) knows the bounds, and how text becomes the value and back.
namespace cmcp {

/// The names of types that rows use.
struct setting_types {
    using milliseconds = std::chrono::milliseconds;
    using path = std::filesystem::path;
    using words = std::vector<std::string>;
    using tokens = std::vector<std::pair<std::string, std::string>>;  ///< name and token
};

}  // namespace cmcp
