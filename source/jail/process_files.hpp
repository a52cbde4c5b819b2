#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// The files of a /proc that is seen from outside its PID namespace, by an open folder of it.
namespace cmcp::sandbox {

/// Empty where it cannot be read, as of a process that has ended meanwhile.
std::string read_text(int directory, const std::string& path, std::size_t most = 2048);

/// Names in the folder that begin with a digit from `first` on.
std::vector<std::string> numbered_entries(int directory, char first);

}  // namespace cmcp::sandbox
