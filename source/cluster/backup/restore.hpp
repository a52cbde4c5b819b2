#pragma once

#include "backup/archive_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cmcp::backup {

struct restored {
    std::string made_at;  ///< when the backup was made
    std::string version;  ///< of the program that made it
    std::uint64_t entries = 0, bytes = 0;
    std::filesystem::path settings{};  ///< the folder with files of settings; empty: the backup has none
    std::filesystem::path former{};    ///< the folder with what was there before; empty: nothing was
    bool lost_attributes = false;
};

/// Makes the state of a backup in `root`, which is made where it is missing. All of the archive is read and checked in
/// a passing folder of `root` before anything takes its place. `force`: what is in `root` is moved aside. Throws
/// bad_archive or std::runtime_error, and leaves `root` as it was.
restored read_backup(archive_reader& from, const std::filesystem::path& root, bool force,
                     const std::function<void(std::uint64_t bytes)>& tell);

}  // namespace cmcp::backup
