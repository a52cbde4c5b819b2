#pragma once

#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct folder_item {
    std::string name;    ///< raw bytes
    unsigned char type;  ///< DT_* of readdir(3); DT_UNKNOWN on some file systems
};

/// Opens the folder `name` of the open folder `at`, to be read; never a symbolic link to one. Empty: errno says why.
inline unique_fd open_folder(int at, const char* name)
{
    return unique_fd(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

/// Reads the names of one open folder.
class folder_reader {
public:
    explicit folder_reader(unique_fd folder) : stream_(folder ? ::fdopendir(folder.get()) : nullptr)
    {
        if (stream_) folder.release();
    }

    int descriptor() const { return ::dirfd(stream_.get()); }
    explicit operator bool() const { return stream_ != nullptr; }

    /// The names but "." and "..", in no order; stops after `most`. Nothing when the folder could not be opened.
    std::vector<folder_item> read_all(std::size_t most = std::numeric_limits<std::size_t>::max())
    {
        std::vector<folder_item> items;
        while (stream_ && items.size() < most) {
            const dirent* entry = ::readdir(stream_.get());
            if (entry == nullptr) break;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") items.push_back({std::string(name), entry->d_type});
        }
        return items;
    }

private:
    struct closer {
        void operator()(DIR* stream) const { ::closedir(stream); }
    };
    std::unique_ptr<DIR, closer> stream_;
};

}  // namespace cmcp
