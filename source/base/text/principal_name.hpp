#pragma once

#include <string_view>

namespace cmcp {

/// Whether a caller may have this name, which a certificate or another server of the cluster says: at most 255 visible
/// characters of ASCII. Names become owners of sandboxes and words of the log; those in parentheses are the server's
/// own.
bool can_be_principal(std::string_view name);

}  // namespace cmcp
