#include "launcher/server_wishes.hpp"

#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "posix/unique_fd.hpp"
#include "wire/launcher_protocol.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace cmcp::sandbox {
// Above a workspace are only folders of the server, where no run can put a link.
std::string refuse_workspace(const std::string& workspace, const std::string& below)
{
    if (workspace.empty() || below.empty()) return {};
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const std::string inside = workspace.starts_with(below + "/") ? workspace.substr(below.size() + 1) : "..";
    const unique_fd root(::open(below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const unique_fd folder(root ? static_cast<int>(::syscall(SYS_openat2, root.get(), inside.c_str(), &how, sizeof how))
                                : -1);
    if (folder) return {};
    if (errno == ENOENT) return explain_setup_failure("open workspace " + workspace, ENOENT);
    return "The workspace " + workspace + " is not below SANDBOX_ROOT without links. Nothing was run.";
}

void check_zygote(const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code unknown;
    const fs::path beside = fs::read_symlink("/proc/self/exe", unknown).parent_path() / "container-mcp-zygote";
    if (unknown || fs::canonical(path, unknown) != fs::canonical(beside, unknown) || unknown)
        throw step_failed("open " + path, EPERM);
}

std::string take_body(packet& message)
{
    if (kind_of(message.bytes) == message_kind::start) return message.bytes.substr(1);
    if (message.descriptors.empty()) throw step_failed("read the request", EBADMSG);
    const unique_fd memory = std::move(message.descriptors.front());
    message.descriptors.erase(message.descriptors.begin());
    return read_memory(memory.get(), "read the request");
}

}  // namespace cmcp::sandbox
