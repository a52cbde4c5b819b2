#pragma once

#include "sandbox/tree_builder.hpp"

#include <string>

namespace cmcp::sandbox {

/// The small /etc of a run: generated accounts and names, the loader's cache, the time zone; with `all_programs` also what
/// programs of /usr look for there. Never the host's accounts, keys or host names.
void add_etc_files(tree_builder& tree, const std::string& home, bool all_programs);

}  // namespace cmcp::sandbox
