#include "files/folder_reader.hpp"

#include <string_view>

namespace cmcp {

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
        const dirent* found = ::readdir(stream_.get());
        if (found == nullptr) break;
        const std::string_view name = found->d_name;
        if (name != "." && name != "..") items.push_back({std::string(name), found->d_type});
    }
    return items;
}

}  // namespace cmcp
