#pragma once

#include <string_view>

namespace cmcp {

/// The account of programs in a sandbox that names no other.
inline constexpr std::string_view usual_account = "sandbox";

/// Whether the account of a sandbox's programs may have this name: as useradd takes it, and none that systems have for
/// themselves.
bool is_account_name(std::string_view name);

}  // namespace cmcp
