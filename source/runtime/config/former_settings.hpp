#pragma once

#include <span>
#include <string_view>

namespace cmcp {

/// A name that earlier versions knew. Who still sets it is told, and the server starts.
struct former_setting {
    std::string_view name;
    std::string_view now;     ///< what holds in its place, in words
    std::string_view quota;   ///< the limit of each principal that it was, as limit_names() call it; empty: it was none
    bool is_refused = false;  ///< a server must not begin with it
};

std::span<const former_setting> former_settings();

/// By the variable, or a path with dots of config.toml as find_toml_setting() takes it; nullptr when there is none.
const former_setting* find_former_setting(std::string_view name);

}  // namespace cmcp
