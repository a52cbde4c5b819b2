#include "runs/output_store.hpp"

#include "runs/old_outputs.hpp"
#include "text/random_id.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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
