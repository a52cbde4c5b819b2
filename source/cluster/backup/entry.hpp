#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::backup {

/// A file, folder, link or whiteout (a device of number 0:0) of an archive: POSIX.1-2001 pax interchange format, which
/// GNU tar reads.
struct entry {
    enum class kind : char { file = '0', hard_link = '1', symbolic_link = '2', whiteout = '3', folder = '5' };

    kind is = kind::file;
    std::string path;    ///< relative; raw bytes
    std::string target;  ///< of a link; of a hard link the path of an earlier entry
    mode_t mode = 0600;  ///< the lowest twelve bits
    uid_t uid = 0;
    gid_t gid = 0;
    timespec modified{};
    std::uint64_t size = 0;                         ///< of the file as its reader sees it
    std::map<std::string, std::string> attributes;  ///< extended ones

    /// Where a sparse file has data: offset and length; empty where it is not sparse.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> data{};
    bool sparse = false;

    std::uint64_t stored() const;  ///< bytes of content in the archive
};

inline std::uint64_t entry::stored() const
{
    if (!sparse) return is == kind::file ? size : 0;
    std::uint64_t sum = 0;
    for (const auto& [offset, length] : data) sum += length;
    return sum;
}

}  // namespace cmcp::backup
