#pragma once

#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
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

inline constexpr mode_t rights_to_read = 0500;
inline constexpr mode_t rights_to_change = 0700;

/// open_folder(); where the owner took `rights` away, and this process is the owner, the owner gets them back.
inline unique_fd open_folder_with_rights(int at, const char* name, mode_t rights = rights_to_read)
{
    unique_fd opened = open_folder(at, name);
    if (opened ? ::geteuid() == 0 : errno != EACCES) return opened;
    // The mode is set through a descriptor, so a swapped name is not followed.
    const unique_fd handle(::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!handle || ::fstat(handle.get(), &status) != 0 || (opened && (status.st_mode & rights) == rights))
        return opened;
    ::chmod(("/proc/self/fd/" + std::to_string(handle.get())).c_str(), (status.st_mode & 0777) | rights);
    return open_folder(at, name);
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

    /// Another descriptor of the folder, which outlives this.
    unique_fd again() const { return unique_fd(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0)); }

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
