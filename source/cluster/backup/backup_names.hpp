#pragma once

namespace cmcp::backup {

inline constexpr int format_version = 1;

/// Paths in a backup.
namespace names {
inline constexpr const char* about = "container-mcp-backup/about.json";  ///< the first entry
inline constexpr const char* end = "container-mcp-backup/end.json";      ///< the last one
inline constexpr const char* settings = "container-mcp-backup/settings/";
inline constexpr const char* root = "root";  ///< SANDBOX_ROOT
}  // namespace names

}  // namespace cmcp::backup
