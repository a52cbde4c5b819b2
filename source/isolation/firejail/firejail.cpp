#include "firejail/firejail.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "firejail/inside.hpp"
#include "jail/payload.hpp"
#include "jail/run_rules.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "probe/probe_facts.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

const std::string folder_prefix = "/tmp/container-mcp-firejail-";

std::string content(int memory)
{
    std::string text(16 << 10, '\0');
    const ssize_t length = ::pread(memory, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

unique_fd message_file() { return unique_fd(check(::memfd_create("firejail", MFD_CLOEXEC), "prepare Firejail")); }

// The launcher has no environment of its own; Firejail finds its helpers without one.
[[noreturn]] void execute(const std::string& path, std::vector<std::string> arguments)
{
    std::vector<std::string> variables{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C"};
    ::execve(path.c_str(), pointers(arguments).data(), pointers(variables).data());
    throw step_failed("Firejail: start " + path);
}

void put(int from, int to) { check(::dup2(from, to), "place descriptors"); }

constexpr const char* version_begins = "firejail version";

std::string version_of(const std::string& path)
{
    const unique_fd messages = message_file();
    const cloned child = clone_into_namespaces(0, -1);
    if (child.pid == 0) {
        if (::dup2(messages.get(), 1) >= 0 && ::dup2(messages.get(), 2) >= 0) {
            std::vector<std::string> words{path, "--version"};
            char* none[] = {nullptr};
            ::execve(path.c_str(), pointers(words).data(), none);
        }
        ::_exit(127);
    }
    collect_child(child.pid);
    std::string said = content(messages.get());
    const auto version =
        said.find(version_begins);  // warnings may come before it; where it is missing, a complaint is there
    if (version != std::string::npos) said.erase(0, version);
    return said.substr(0, said.find('\n'));
}

void check_program(const std::string& path, bool as_root)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw step_failed("Firejail: find " + path);
    if (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw step_failed("Firejail: trust " + path, EPERM);
    if (!as_root && (status.st_mode & S_ISUID) == 0)
        throw step_failed("Firejail: gain the rights that set-uid root gives " + path, EPERM);
    if (!as_root && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        throw step_failed("Firejail: gain rights under no_new_privs", EPERM);
}

std::string own_program()
{
    std::error_code unknown;
    const fs::path path = fs::read_symlink("/proc/self/exe", unknown);
    if (unknown) throw step_failed("Firejail: find the launcher", unknown.value());
    return path.string();
}

std::string view_key(const run_request& request)
{
    std::string key = request.argv.at(0);
    for (const auto& name : request.programs.names) key += '\n' + name;
    return key;
}

void follow(std::string& path, const std::string& from, const std::string& to)
{
    if (path == from || path.starts_with(from + "/")) path.replace(0, from.size(), to);
}

// Its workspace is shown to the run with the run's own ids: in mounts that nobody else sees.
void mount_firejail_workspace(const jail_plan& plan)
{
    keep_mounts_private();
    if (plan.workspace)
        attach_mount(plan.workspace.get(), AT_FDCWD, plan.request.workspace_inside, "mount the workspace");
}

// The lock goes with the launcher, however that ends.
unique_fd lock_folder(const std::string& folder, int how)
{
    unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    const bool own = opened && ::fstat(opened.get(), &status) == 0 && status.st_uid == ::geteuid();
    return own && ::flock(opened.get(), how) == 0 ? std::move(opened) : unique_fd();
}

// Of launchers that were killed.
void remove_abandoned_folders()
{
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/tmp", ignored)) {
        const std::string path = entry.path().string();
        if (!path.starts_with(folder_prefix)) continue;
        if (const unique_fd nobodys = lock_folder(path, LOCK_EX | LOCK_NB)) fs::remove_all(path, ignored);
    }
}

}  // namespace

firejail::firejail(std::string path, bool as_root) : path_(std::move(path)), as_root_(as_root)
{
    check_program(path_, as_root);
    version_ = version_of(path_);
    if (!version_.starts_with(version_begins))
        throw step_failed("Firejail: start " + path_ + (version_.empty() ? "" : ", which says: " + version_), EACCES);
    const std::string self = own_program();
    program_.reset(check(::open(self.c_str(), O_RDONLY | O_CLOEXEC), "Firejail: open the launcher"));
    loaded_ = resolve_view({false, {}}, {self});
    namespaces_outside_ = json::serialize(namespace_facts());
    remove_abandoned_folders();
    make_folder();
    std::ofstream(folder_ + "/hosts") << "127.0.0.1 localhost sandbox\n::1 localhost\n";
}

void firejail::move_workspace(run_request& request)
{
    const std::string named = request.workspace_inside;
    std::error_code error;
    const std::string workspace = request.workspace.empty() ? "/tmp" : fs::canonical(request.workspace, error).string();
    if (error) throw step_failed("open workspace " + request.workspace, error.value());
    request.workspace_inside = workspace;
    follow(request.working_dir, named, workspace);
    for (auto& argument : request.argv) follow(argument, named, workspace);
    for (auto& [name, value] : request.environment) follow(value, named, workspace);
}

void firejail::make_folder()
{
    do {
        folder_ = folder_prefix + std::to_string(::getpid()) + "-XXXXXX";
        if (::mkdtemp(folder_.data()) == nullptr) throw step_failed("Firejail: keep profiles in /tmp");
        in_use_ = lock_folder(folder_, LOCK_EX);
    } while (!fs::exists(folder_));  // another launcher took it for abandoned before it was locked
}

firejail::~firejail()
{
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

const view_files& firejail::programs_of(const run_request& request)
{
    const auto [entry, added] = resolved_.try_emplace(view_key(request));
    if (added || !entry->second.marks.still_true())
        entry->second = resolve_view(request.programs, {request.argv.at(0)});
    return entry->second;
}

std::string firejail::write_profile(const std::string& text)
{
    const auto [entry, added] =
        profiles_.try_emplace(text, folder_ + "/" + std::to_string(profiles_.size()) + ".profile");
    if (!added) return entry->second;
    std::ofstream file(entry->second);
    if (file << text && file.flush()) return entry->second;
    profiles_.erase(entry);
    throw step_failed("Firejail: keep profiles in /tmp", ENOSPC);
}

std::string firejail::prepare(jail_plan& plan)
{
    const bool all = plan.request.programs.all;
    firejail_shape shape{.as_root = as_root_, .all_programs = all, .hosts = folder_ + "/hosts"};
    if (!all) {
        shape.files = programs_of(plan.request);
        shape.launcher = loaded_;
    }
    plan.writable_may_execute = all;
    plan.rules = rules_of(plan.request, all ? nullptr : &shape.files);
    return write_profile(firejail_profile(shape));
}

void firejail::become(const jail_plan& plan, const std::string& profile, int messages) const
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (as_root_) mount_firejail_workspace(plan);
    std::vector<std::string> arguments{path_, "--quiet", "--profile=" + profile};
    if (!plan.request.workspace.empty())
        for (auto& option : workspace_options(plan.request.workspace_inside, plan.writable_may_execute))
            arguments.push_back(std::move(option));
    for (std::string option : {std::string("--keep-fd=3,4"), std::string("--deterministic-shutdown"),
                               "/proc/self/fd/" + std::to_string(inside_program), std::string(inside_argument)})
        arguments.push_back(std::move(option));
    put(plan.control.get(), inside_control);
    put(program_.get(), inside_program);
    put(messages, 1);
    put(messages, 2);
    check(::syscall(SYS_close_range, 5u, ~0u, 0), "close descriptors");
    unblock_signals();
    check(::setsid(), "new session");
    check(::chdir("/"), "enter the root folder");
    execute(path_, std::move(arguments));
}

std::string firejail_complaint(int messages)
{
    const std::string said = content(messages);
    for (const char* mark : {"existing sandbox was detected", "Error"}) {
        const auto at = said.find(mark);
        if (at == std::string::npos) continue;
        const auto begin = said.rfind('\n', at) + 1;  // npos + 1 is 0
        return "Firejail: " + said.substr(begin, said.find('\n', at) - begin);
    }
    return "Firejail: start the run";
}

}  // namespace cmcp::sandbox
