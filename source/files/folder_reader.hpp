#pragma once

#include "posix/unique_fd.hpp"

#include <dirent.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct folder_item {
    std::string name;    ///< raw bytes
    unsigned char type;  ///< DT_* of readdir(3); DT_UNKNOWN on some file systems
};

/// Opens the folder `name` of the open folder `at`, to be read; never a symbolic link to one. Empty: errno says why.
unique_fd open_folder(int at, const char* name);

/// Reads the names of one open folder.
class folder_reader {
public:
    explicit folder_reader(unique_fd folder);

    int descriptor() const { return ::dirfd(stream_.get()); }
    explicit operator bool() const { return stream_ != nullptr; }

    /// The names but "." and "..", in no order; stops after `most`. Nothing when the folder could not be opened.
    std::vector<folder_item> read_all(std::size_t most = std::numeric_limits<std::size_t>::max());

private:
    struct closer {
        void operator()(DIR* stream) const { ::closedir(stream); }
    };
    std::unique_ptr<DIR, closer> stream_;
};

}  // namespace cmcp
