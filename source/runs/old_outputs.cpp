#include "runs/old_outputs.hpp"

#include "posix/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {
namespace {

// A caller may fill the folder with files of its own: the rest is left to a later run.
constexpr std::size_t entries_looked_at = 4096;

struct kept {
    std::string name;
    std::uint64_t size;
    timespec modified;
};

struct close_dir {
    void operator()(DIR* open) const { ::closedir(open); }
};

bool is_output_name(std::string_view name)
{
    return name.size() == 36 && name.substr(32) == ".txt" &&
           name.substr(0, 32).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<kept> find_outputs(int folder)
{
    std::vector<kept> found;
    unique_fd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, close_dir> listing(own ? ::fdopendir(own.get()) : nullptr);
    if (!listing) return found;
    own.release();
    for (std::size_t i = 0; i < entries_looked_at; ++i) {
        const dirent* entry = ::readdir(listing.get());
        if (entry == nullptr) break;
        struct stat about {};
        if (!is_output_name(entry->d_name) || ::fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(about.st_mode))
            found.push_back({entry->d_name, static_cast<std::uint64_t>(about.st_size), about.st_mtim});
    }
    return found;
}

bool newer(const kept& a, const kept& b)
{
    if (a.modified.tv_sec != b.modified.tv_sec) return a.modified.tv_sec > b.modified.tv_sec;
    return a.modified.tv_nsec > b.modified.tv_nsec;
}

}  // namespace

void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes)
{
    std::vector<kept> found = find_outputs(descriptor);
    std::sort(found.begin(), found.end(), newer);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        total += found[i].size;
        if (i >= files || total > bytes) ::unlinkat(descriptor, found[i].name.c_str(), 0);
    }
}

}  // namespace cmcp
