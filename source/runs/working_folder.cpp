#include "runs/working_folder.hpp"

#include "posix/unique_fd.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp {
namespace {

// 0, or why the folder cannot be opened. A path that leads out of the workspace (EXDEV) is resolved in the sandbox:
// there an absolute link means another place than here.
int try_folder(const std::filesystem::path& workspace, const std::string& relative)
{
    const unique_fd root(::open(workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) return errno;
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    const unique_fd folder(static_cast<int>(::syscall(SYS_openat2, root.get(), relative.c_str(), &how, sizeof how)));
    return folder ? 0 : errno;
}

std::string folder_sentence(int error, std::string_view wanted)
{
    const std::string named = "working_dir: \"" + std::string(wanted) + "\"";
    if (error == ENOENT) return named + " does not exist; make it first (mkdir -p, or file_write a file into it)";
    if (error == ENOTDIR) return named + " is not a folder; name the folder that it is in";
    if (error == ENAMETOOLONG) return "working_dir: the path is too long";
    return {};
}

// The part below the workspace, or nothing when `path` is elsewhere inside.
std::string folder_below(const std::string& path, std::string_view workspace_inside)
{
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    if (normal == workspace_inside || normal == std::string(workspace_inside) + "/") return ".";
    const std::string prefix = std::string(workspace_inside) + "/";
    return normal.compare(0, prefix.size(), prefix) == 0 ? normal.substr(prefix.size()) : "";
}

}  // namespace

working_folder find_working_folder(std::string_view wanted, const std::filesystem::path& workspace,
                                   std::string_view workspace_inside)
{
    if (wanted.find('\0') != std::string_view::npos) return {"", "working_dir: must not contain a NUL character"};
    if (wanted.empty()) return {std::string(workspace_inside), ""};
    std::string path(wanted);
    if (path.front() != '/') path = std::string(workspace_inside) + "/" + path;
    const std::string relative = folder_below(path, workspace_inside);
    if (relative.empty()) return {path, ""};
    return {path, folder_sentence(try_folder(workspace, relative), wanted)};
}

}  // namespace cmcp
