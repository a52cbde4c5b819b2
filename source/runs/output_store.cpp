#include "runs/output_store.hpp"

#include "text/random_id.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

namespace cmcp {
namespace {

constexpr const char* folder_name = ".outputs";

// The caller's code may have planted anything in its workspace: no link is followed.
unique_fd open_beneath(int folder, const char* name, std::uint64_t flags, std::uint64_t mode)
{
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return unique_fd(static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how)));
}

unique_fd open_outputs(const std::filesystem::path& workspace)
{
    const unique_fd root(::open(workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return {};
    if (::mkdirat(root.get(), folder_name, 0755) != 0 && errno != EEXIST) return {};
    return open_beneath(root.get(), folder_name, O_RDONLY | O_DIRECTORY, 0);
}

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
    std::vector<kept> outputs;
    unique_fd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, close_dir> listing(own ? ::fdopendir(own.get()) : nullptr);
    if (!listing) return outputs;
    own.release();
    for (std::size_t i = 0; i < entries_looked_at; ++i) {
        const dirent* entry = ::readdir(listing.get());
        if (entry == nullptr) break;
        struct stat about {};
        if (!is_output_name(entry->d_name) || ::fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(about.st_mode))
            outputs.push_back({entry->d_name, static_cast<std::uint64_t>(about.st_size), about.st_mtim});
    }
    return outputs;
}

bool newer(const kept& a, const kept& b)
{
    if (a.modified.tv_sec != b.modified.tv_sec) return a.modified.tv_sec > b.modified.tv_sec;
    return a.modified.tv_nsec > b.modified.tv_nsec;
}

std::shared_ptr<output_file> create_in(const std::filesystem::path& workspace, const output_store::limits& keep)
{
    const unique_fd folder = open_outputs(workspace);
    if (!folder) return nullptr;
    remove_old_outputs(folder.get(), keep.files > 0 ? keep.files - 1 : 0, keep.bytes);
    const std::string name = random_id(16) + ".txt";
    unique_fd file = open_beneath(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
    if (!file) return nullptr;
    return std::make_shared<output_file>(std::move(file), std::string(folder_name) + "/" + name);
}

}  // namespace

void remove_old_outputs(int descriptor, std::size_t files, std::uint64_t bytes)
{
    std::vector<kept> outputs = find_outputs(descriptor);
    std::sort(outputs.begin(), outputs.end(), newer);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        total += outputs[i].size;
        if (i >= files || total > bytes) ::unlinkat(descriptor, outputs[i].name.c_str(), 0);
    }
}

bool output_file::append(std::string_view bytes)
{
    while (!failed_ && !bytes.empty()) {
        const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        failed_ = written <= 0;
        if (!failed_) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return !failed_;
}

awaitable<std::shared_ptr<output_file>> output_store::create(std::filesystem::path workspace)
{
    auto work = [workspace = std::move(workspace), keep = keep_] { return create_in(workspace, keep); };
    auto file = co_await pool_->run(std::move(work));
    co_return file;
}

awaitable<bool> output_store::append(std::shared_ptr<output_file> file, std::string bytes)
{
    auto work = [file = std::move(file), bytes = std::move(bytes)] { return file->append(bytes); };
    const bool written = co_await pool_->run(std::move(work));
    co_return written;
}

}  // namespace cmcp
