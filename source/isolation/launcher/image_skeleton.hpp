#pragma once

#include "jail/tree_builder.hpp"

#include <string>

namespace cmcp::sandbox {

/// Adds the files of /etc that a run's user and its network need, over those of the image whose open root is `image`.
/// Nothing where the image's /etc is no folder. Links of the image stay within its root.
void add_image_accounts(tree_builder& above, int image, const std::string& home);

}  // namespace cmcp::sandbox
