#include "jail/file_marks.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace cmcp::sandbox {

file_marks::mark file_marks::look_at(const std::string& path)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void file_marks::add(const std::string& path) { marks_.try_emplace(path, look_at(path)); }

bool file_marks::still_true() const
{
    return std::all_of(marks_.begin(), marks_.end(),
                       [](const auto& each) { return look_at(each.first) == each.second; });
}

}  // namespace cmcp::sandbox
