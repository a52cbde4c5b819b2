#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace cmcp {

/// The packages in a workspace with their versions, named as package_driver names them: those of pip that are whole
/// (their RECORD is written last), and `npm:name`. Nothing outside of the workspace is looked at, whatever links in it
/// say; what cannot be read is left out. Blocks on the disk.
std::map<std::string, std::string> installed_packages(const std::filesystem::path& workspace);

/// Moves what pip would take for an installed package but has no RECORD, as an installation that was killed leaves it,
/// to new names in `trash`. Only while nothing runs in the sandbox. Blocks on the disk.
void remove_half_installed(const std::filesystem::path& workspace, const std::filesystem::path& trash);

}  // namespace cmcp
