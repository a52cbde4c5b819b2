#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

class file_root;

struct file_list_request {
    std::string path = "/";
    std::string pattern{};  ///< empty: everything; see managers/glob.hpp
    bool recursive = false;
    std::size_t limit = 1000;  ///< entries a page
    std::string cursor{};      ///< next_cursor of the page before; empty: the first page
};

struct file_entry {
    std::string name;                   ///< raw bytes, as all paths here: perhaps no UTF-8
    std::string path;                   ///< relative to the root
    std::string type;                   ///< file, directory, symlink, fifo, socket or device
    std::optional<std::uint64_t> size;  ///< bytes; not for directories
    double modified = 0;                ///< seconds since 1970
};

struct file_page {
    std::vector<file_entry> entries;  ///< sorted by path, folder by folder
    std::string next_cursor;          ///< empty: this was the last page
    bool depth_limited = false;       ///< folders too deep to go into were left out
    bool count_limited = false;       ///< so many entries that some were not looked at
};

/// Lists a folder; does not follow symbolic links below it. A page ends at the limit or where its JSON would grow
/// beyond about 200 kB. Throws file_error.
file_page list_folder(const file_root& root, const file_list_request& what);

}  // namespace cmcp
