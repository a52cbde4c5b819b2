#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace cmcp::sandbox {

/// How some files and folders were at one moment. A folder changes with its own entries, not with those below them.
class file_marks {
public:
    void add(const std::string& path) { marks_.try_emplace(path, look_at(path)); }  ///< also where there is none
    bool still_true() const
    {
        return std::ranges::all_of(marks_, [](const auto& each) { return look_at(each.first) == each.second; });
    }

private:
    using mark = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;  // device, inode, time of change

    static mark look_at(const std::string& path)
    {
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) return {};
        return {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    }

    std::map<std::string, mark> marks_;
};

}  // namespace cmcp::sandbox
