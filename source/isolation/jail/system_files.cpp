#include "jail/system_files.hpp"

#include "facilities/setup_step.hpp"
#include "text/account_name.hpp"

#include <linux/mount.h>

#include <filesystem>

namespace cmcp::sandbox {

extern const std::string_view tools_module;     // tools.py
extern const std::string_view tools_program;    // tools_program.py
extern const std::string_view python_start_up;  // python_start_up.py
extern const std::string_view saved_figures;    // saved_figures.py

namespace {

namespace fs = std::filesystem;

constexpr const char* copied[] = {"/etc/ld.so.cache",  "/etc/localtime",  "/etc/timezone",   "/etc/protocols",
                                  "/etc/services",     "/etc/mime.types", "/etc/os-release", "/etc/debian_version",
                                  "/etc/matplotlibrc", "/etc/fpc.cfg"};
// Settings of language runtimes that do not start without them, and public certificates; all world-readable.
constexpr const char* shown[] = {"/etc/alternatives", "/etc/ssl/certs", "/etc/fonts", "/etc/R",
                                 "/etc/php",          "/etc/perl",      "/etc/lua"};

void add_accounts(tree_builder& tree, const run_account& user)
{
    const auto& [name, home] = user;
    tree.file("/etc/passwd",
              name + ":x:1000:1000:" + name + ":" + home + ":/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n");
    tree.file("/etc/group", name + ":x:1000:\nnogroup:x:65534:\n");
}

void add_names(tree_builder& tree)
{
    tree.file("/etc/nsswitch.conf",
              "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n");
    tree.file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n");
    tree.file("/etc/hostname", "sandbox\n");
    tree.file("/etc/resolv.conf", "");
}

bool readable_by_all(const fs::path& path)
{
    std::error_code error;
    const auto status = fs::status(path, error);
    return !error && (status.permissions() & fs::perms::others_read) != fs::perms::none;
}

}  // namespace

std::vector<std::string> add_system_links(tree_builder& tree)
{
    std::vector<std::string> folders;
    for (const std::string path : system_folders) {
        std::error_code ignored;
        if (fs::is_symlink(path, ignored))
            tree.link(path, fs::read_symlink(path, ignored).string());
        else if (fs::is_directory(path, ignored))
            folders.push_back(path);
    }
    return folders;
}

void add_all_programs(tree_builder& tree)
{
    bind_read_only(tree, "/usr");
    for (const auto& path : add_system_links(tree)) bind_read_only(tree, path);
}

void bind_read_only(tree_builder& tree, const std::string& path)
{
    tree.bind(path, path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

// Runs without the door for tools have them, too, and get an error that says so.
void add_given_files(tree_builder& tree)
{
    const std::string folder = given_folder;
    tree.folder(folder + "/own");
    tree.file(folder + "/python/tools.py", tools_module);
    tree.file(folder + "/python/sitecustomize.py", python_start_up);
    tree.file(folder + "/python/container_mcp_figures.py",
              std::string(python_common).append(python_figures).append(saved_figures));
    tree.file(folder + "/bin/tools", tools_program, 0755);
}

// git commits only with a name, and where a caller has none of his own there is nobody to ask. Files that the server
// put into a workspace have another owner inside on some machines, and git would then not work there.
void add_git_settings(tree_builder& tree)
{
    tree.file("/etc/gitconfig",
              "[user]\n\tname = sandbox\n\temail = sandbox@localhost\n[init]\n\tdefaultBranch = main\n[safe]\n"
              "\tdirectory = *\n");
}

void add_missing_names(tree_builder& tree, const std::function<std::string(const std::string& name)>& path_of)
{
    tree.folder(names_folder);
    for (const std::string name : {"python", "pip"}) {
        const std::string there = path_of(name).empty() ? path_of(name + "3") : std::string();
        if (!there.empty()) tree.link(names_folder + ("/" + name), there);
    }
}

void add_device(tree_builder& tree, const std::string& path)
{
    tree.bind(path, path, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

run_account account_of(const run_request& request)
{
    const std::string name = request.user.empty() ? std::string(usual_account) : request.user;
    if (!is_account_name(name)) throw step_failed("name the account of the run", EINVAL);
    return {name, request.machine ? "/home/" + name : request.workspace_inside};
}

void add_etc_files(tree_builder& tree, const run_account& user, bool all_programs)
{
    add_accounts(tree, user);
    add_names(tree);
    add_git_settings(tree);
    for (const auto& path : files_of_etc()) tree.copy(path, path);
    if (!all_programs) return;
    for (const auto& path : folders_of_etc()) bind_read_only(tree, path);
}

std::vector<std::string> files_of_etc()
{
    std::vector<std::string> paths;
    for (const char* path : copied)
        if (readable_by_all(path) && fs::is_regular_file(path)) paths.emplace_back(path);
    return paths;
}

std::vector<std::string> folders_of_etc()
{
    std::vector<std::string> paths;
    for (const char* path : shown)
        if (readable_by_all(path) && fs::is_directory(path)) paths.emplace_back(path);
    std::error_code hidden;
    for (const auto& entry : fs::directory_iterator("/etc", hidden)) {
        const bool of_java = entry.path().filename().string().starts_with("java-");  // java-17-openjdk
        if (of_java && readable_by_all(entry.path()) && entry.is_directory(hidden))
            paths.push_back(entry.path().string());
    }
    return paths;
}

void mark_etc_files(file_marks& marks, bool all_programs)
{
    for (const char* path : copied) marks.add(path);
    if (!all_programs) return;
    for (const char* path : shown) marks.add(path);
    marks.add("/etc");
}

}  // namespace cmcp::sandbox
