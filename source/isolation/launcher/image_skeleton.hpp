#pragma once

#include "jail/system_files.hpp"

namespace cmcp::sandbox {

/// Adds the files of /etc that a run's user and its network need, over those of the image whose open root is `image`.
/// Nothing where the image's /etc is no folder. Links of the image stay within its root.
void add_image_accounts(tree_builder& above, int image, const run_account& user);

}  // namespace cmcp::sandbox
