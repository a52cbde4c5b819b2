#include "facilities/setup_step.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace cmcp::sandbox {
namespace {

struct advice {
    std::string_view step;  // beginning of the step's name
    int error;              // 0: any
    std::string_view text;
};

constexpr std::string_view unconfined =
    "Firejail runs programs unconfined here, as it does inside of containers and other sandboxes: set "
    "SANDBOX_BACKEND=native.";

constexpr advice table[] = {
    {"start program", ENOENT,
     "The program does not exist inside the sandbox: install it, or allow it for this kind of run."},
    {"start program", EACCES, "The program may not be executed inside the sandbox: allow it for this kind of run."},
    {"start program", ENOEXEC, "The file is not a program: start it through its interpreter."},
    {"start program", E2BIG, "The arguments are too long for the kernel: pass the code as the run's script instead."},
    {"see the processes of the cell", 0,
     "A lasting cell needs a /proc of its own, which this container masks: permit it, or start the program without "
     "one."},
    {"open a terminal", ENOSPC,
     "The sandbox's processes have as many terminals open as a sandbox may have: close some, or end the sandbox's "
     "processes."},
    {"start a process", EAGAIN,
     "The sandbox's limit of processes is reached (SANDBOX_PROCESS_LIMIT): end some, or all by stop_sandbox with "
     "keep_files, and try again."},
    {"working folder", 0, "Choose a working folder that exists inside the sandbox, for example \".\"."},
    {"workspace is full", 0,
     "Delete files with file_delete, or raise SANDBOX_WORKSPACE_MAX_MB and SANDBOX_WORKSPACE_MAX_FILES."},
    {"open workspace", ENOENT, "The folder of the sandbox does not exist: create it or correct SANDBOX_ROOT."},
    {"open workspace", EXDEV, "The files of a sandbox are in a folder below SANDBOX_ROOT."},
    {"open workspace", ELOOP, "The files of a sandbox are in a folder below SANDBOX_ROOT, with no link on its way."},
    {"open workspace", EACCES, "The server's user may not enter the folder of the sandbox: correct its owner or mode."},
    {"workspace owner", 0,
     "The folder of the sandbox belongs to root on a file system without id-mapped mounts: give it to an ordinary "
     "user."},
    {"be a machine", EPERM,
     "This server makes no sandboxes of class machine: SANDBOX_REQUIRE names strict. Make one without machine."},
    {"be a machine", 0, "A sandbox of class machine needs files that are kept, and a lasting cell."},
    {"mount the machine's root", EINVAL,
     "The kernel mounts no overlay with root inside and nobody outside here (Linux 5.19 or newer is needed, and "
     "SANDBOX_ROOT on ext4, XFS or Btrfs): make the sandbox without machine."},
    {"mount the machine's", 0,
     "The kernel mounts no overlay for a sandbox of class machine here: put SANDBOX_ROOT on ext4, XFS or Btrfs, or "
     "make "
     "the sandbox without machine."},
    {"show / to the machine", 0,
     "This kernel shows no file system in memory with other owners, so a root server makes no sandboxes of class "
     "machine "
     "here: use Linux 6.3 or newer, run the server as an ordinary user, or make the sandbox without machine."},
    {"Firejail: no ", 0, unconfined},
    {"Firejail: Warning: an existing sandbox", 0, unconfined},
    {"Firejail: show an image", 0, "Images need SANDBOX_BACKEND=native."},
    {"Firejail: a network", 0, "A network of a sandbox needs SANDBOX_BACKEND=native."},
    {"open image", ENOENT,
     "The image is not in the store any more: `container-mcp image list` shows those that are there."},
    {"show the image", 0,
     "The kernel permits no overlay of the image's folder here: put SANDBOX_ROOT on a disk of its own."},
    {"Firejail: find", 0, "Install Debian's package firejail, or set SANDBOX_BACKEND=native."},
    {"Firejail: gain", 0,
     "Firejail works through set-uid root, which is not possible here: install Debian's package firejail, start the "
     "server without "
     "NoNewPrivileges, or set SANDBOX_BACKEND=native."},
    {"Firejail: show the folder", 0,
     "Firejail reads some characters as patterns: choose a SANDBOX_ROOT of plain letters, digits and ./_-+@,=~"},
    {"Firejail", 0,
     "Run `container-mcp doctor` to see which layers work on this machine, or set SANDBOX_BACKEND=native."},
    {"clone", EPERM,
     "Namespaces are not permitted here: allow unprivileged user namespaces (sysctl "
     "kernel.unprivileged_userns_clone=1, "
     "kernel.apparmor_restrict_unprivileged_userns=0) or run the container with a profile that permits them."},
    {"clone", ENOSPC, "The limit of namespaces is reached: raise sysctl user.max_user_namespaces and its siblings."},
    {"clone", EAGAIN, "The limit of processes of the server's user is reached: end other runs or raise it."},
    {"clone", EINVAL, "The kernel does not know one of the namespaces: Linux 5.9 or newer is needed."},
    {"user namespace", ENOSPC,
     "The limit of namespaces is reached: raise sysctl user.max_user_namespaces and its siblings."},
    {"user namespace", 0,
     "User namespaces are not permitted here: allow them (sysctl kernel.unprivileged_userns_clone=1, "
     "kernel.apparmor_restrict_unprivileged_userns=0) or run the container with a profile that permits them."},
    {own_sandbox_step, 0,
     "Permit user namespaces on this machine, or leave browser_sandbox out of SANDBOX_REQUIRE to browse without this "
     "layer. web_scrape reads pages that need no JavaScript."},
    {"find a user", 0,
     "This container has no spare user ids for root's runs: run the server as an ordinary user, or give the container "
     "a range of ids."},
    {"mount /proc", EPERM,
     "The container's /proc is masked: run it with an unmasked /proc (Podman: --security-opt unmask=/proc/*), or "
     "outside a container."},
    {"id map", 0, "The user ids of the sandbox cannot be mapped: check the id ranges given to the container."},
    {"mount", ENOMEM, "The machine has too little free memory for a new sandbox: try again later."},
    {"", EMFILE, "Too many descriptors are open: raise the limit of open files of the server."},
    {"", ENFILE, "The machine has too many open files: try again later."},
    {"", ENOMEM, "The machine has too little free memory: try again later."},
};

bool advises_on(const advice& a, const std::string& step, int error)
{
    return step.starts_with(a.step) && (a.error == 0 || a.error == error);
}

}  // namespace

// Other runs' pipes and the server's socket are open in a clone of the launcher: shut them before anything else.
void close_all_but(std::vector<int> keep)
{
    std::sort(keep.begin(), keep.end());
    unsigned next = 0;
    for (const int fd : keep) {
        if (fd < 0) continue;
        const auto current = static_cast<unsigned>(fd);
        if (current > next) check(::syscall(SYS_close_range, next, current - 1, 0), "close descriptors");
        next = current + 1;
    }
    check(::syscall(SYS_close_range, next, ~0u, 0), "close descriptors");
}

int error_of(const std::exception& failure)
{
    const auto* step = dynamic_cast<const step_failed*>(&failure);
    return step != nullptr ? step->error : 0;
}

std::string explain_setup_failure(const std::exception& failure)
{
    return explain_setup_failure(failure.what(), error_of(failure));
}

std::string explain_setup_failure(const std::string& step, int error)
{
    std::string text = "The sandbox could not be set up: step \"" + step + "\" failed";
    if (error != 0) text += std::string(" (") + std::strerror(error) + ")";
    text += ". Nothing was run. ";
    for (const auto& a : table)
        if (advises_on(a, step, error)) return text + std::string(a.text);
    return text + "Run `container-mcp doctor` to see which layers work on this machine.";
}

}  // namespace cmcp::sandbox
