#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace cmcp::sandbox {

/// How some files and folders were at one moment. A folder changes with its own entries, not with those below them.
class file_marks {
public:
    void add(const std::string& path);  ///< a file that is not there is marked as absent
    bool still_true() const;

private:
    using mark = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;  // device, inode, time of change

    static mark look_at(const std::string& path);

    std::map<std::string, mark> marks_;
};

}  // namespace cmcp::sandbox
