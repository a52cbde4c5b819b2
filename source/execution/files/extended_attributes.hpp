#pragma once

#include <map>
#include <string>

namespace cmcp {

/// The extended attributes that copies of a file have: those of users (user.*), which grant nothing.
std::map<std::string, std::string> read_attributes(int fd);

/// False: the file system does not keep them.
bool write_attributes(int fd, const std::map<std::string, std::string>& attributes);

bool is_user_attribute(const std::string& name);

}  // namespace cmcp
