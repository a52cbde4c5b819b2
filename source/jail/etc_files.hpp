#pragma once

#include "jail/file_marks.hpp"
#include "jail/tree_builder.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The small /etc of a run: generated accounts and names, the loader's cache, the time zone; with `all_programs` also
/// what programs of /usr look for there. Never the host's accounts, keys or host names.
void add_etc_files(tree_builder& tree, const std::string& home, bool all_programs);

/// The entries of the machine's own /etc that a run may see: files, and folders where it may execute every program.
std::vector<std::string> files_of_etc();
std::vector<std::string> folders_of_etc();

/// With these marks untrue, a small /etc made now would be another.
void mark_etc_files(file_marks& marks, bool all_programs);

}  // namespace cmcp::sandbox
