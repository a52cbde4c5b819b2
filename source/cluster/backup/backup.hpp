#pragma once

#include "backup/archive_writer.hpp"
#include "backup/principal_choice.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::backup {

/// Copies the files of a sandbox that is in use aside, and gives the copy's folder, which the backup removes; or
/// nothing, and then the files themselves are read.
using copy_aside = std::function<std::optional<std::filesystem::path>(const std::string& sandbox)>;

struct backup_order {
    std::filesystem::path root;  ///< SANDBOX_ROOT
    bool images = false;
    principal_choice whose{};
    std::vector<std::filesystem::path> settings{};  ///< files of settings
    copy_aside copy{};                              ///< empty: no server runs
};

/// How far a backup is; `bytes` of the archive before it is compressed.
struct backup_progress {
    std::uint64_t entries = 0, bytes = 0;
    std::size_t sandboxes = 0, of_sandboxes = 0;
    std::uint64_t left_out = 0;
    std::vector<std::string> problems{};  ///< sentences of what is left out, 100 at most
};

/// Writes all of a server's state. Databases are copied first, so that each sandbox that they name is looked for.
/// Throws std::runtime_error.
backup_progress write_backup(const backup_order& order, archive_writer& to,
                             const std::function<void(const backup_progress&)>& tell);

}  // namespace cmcp::backup
