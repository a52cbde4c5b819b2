#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// An entry of etcd with a signature before it: who may write there, such as another user of the same etcd, must not
/// make keys. `kind` tells entries apart that are used for different things. Pure.
std::string sealed_entry(std::string_view key, std::string_view kind, std::string_view text);

/// The text; nothing: it is not signed with the key for this use.
std::optional<std::string_view> opened_entry(std::string_view key, std::string_view kind, std::string_view sealed);

}  // namespace cmcp
