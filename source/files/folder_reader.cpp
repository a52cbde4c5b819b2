#include "files/folder_reader.hpp"

#include <fcntl.h>

#include <string_view>

namespace cmcp {

unique_fd open_folder(int at, const char* name)
{
    return unique_fd(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

folder_reader::folder_reader(unique_fd folder)
{
    if (!folder) return;
    stream_.reset(::fdopendir(folder.get()));
    if (stream_) folder.release();
}

std::vector<folder_item> folder_reader::read_all(std::size_t most)
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

}  // namespace cmcp
