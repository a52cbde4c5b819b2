#pragma once

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The first `most` bytes of a file; empty where it cannot be read, as of a process that has ended meanwhile.
std::string read_text(int directory, const std::string& path, std::size_t most = 2048);

/// The entries of an open folder whose names begin with a digit from `first` on.
std::vector<std::string> numbered_entries(int directory, char first);

}  // namespace cmcp::sandbox
