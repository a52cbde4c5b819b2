#pragma once

#include <filesystem>

namespace cmcp {

/// Removes a folder with all that is in it; follows no symbolic link, needs few descriptors and little stack however
/// deep the folder is. Nothing when it does not exist. What cannot be removed is left; returns whether all is gone.
/// May take long: call it on a thread that may block.
bool remove_tree(const std::filesystem::path& folder);

}  // namespace cmcp
