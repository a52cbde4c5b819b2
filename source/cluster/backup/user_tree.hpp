#pragma once

#include <string_view>

namespace cmcp::backup {

/// Links are only inside of folders that the server and its programs enter beneath a descriptor: workspaces, snapshots
/// and the roots of images. The part of a path of an archive that is such a folder ("root/callers/ann/workspace");
/// empty for the folder itself and for all else.
std::string_view user_tree(std::string_view path);

}  // namespace cmcp::backup
