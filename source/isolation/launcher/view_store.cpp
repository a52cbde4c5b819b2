#include "launcher/view_store.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "jail/run_rules.hpp"
#include "jail/system_files.hpp"
#include "jail/tree_builder.hpp"
#include "launcher/browser.hpp"
#include "launcher/image_skeleton.hpp"
#include "launcher/own_folders.hpp"
#include "limits/machine_figures.hpp"
#include "text/encodings.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

namespace cmcp::sandbox {

namespace {

constexpr std::uint64_t read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr off_t copy_limit = 16 << 20;
constexpr std::size_t most_views = 64;
// An overlay remembers what was not there, so an installation must show by a change of these.
constexpr std::array installed_into{"/usr",
                                    "/usr/bin",
                                    "/usr/sbin",
                                    "/usr/local/bin",
                                    "/usr/lib",
                                    "/usr/lib/python3/dist-packages",
                                    "/usr/lib/node_modules",
                                    "/usr/local/lib",
                                    "/usr/share"};
constexpr int pause_factor = 5;  // while packages are being installed, building views takes a sixth of the time at most

void check_workspace_path(const std::string& path)
{
    const auto clean = std::filesystem::path(path).lexically_normal().string();
    const bool plain = path.starts_with('/') && path.size() > 1 && clean == path && !path.ends_with('/');
    constexpr std::string_view reserved[] = {"/usr",  "/etc", "/dev",   "/proc",    "/tmp",   "/bin",
                                             "/sbin", "/lib", "/lib64", "/var/tmp", data_path};
    const auto overlaps = [&](std::string_view t) { return path == t || path.starts_with(std::string(t) + "/"); };
    if (!plain || std::any_of(std::begin(reserved), std::end(reserved), overlaps))
        throw step_failed("place the workspace at " + path, EINVAL);
}

// Mount points only: something covers them later.
void add_mount_points(tree_builder& tree, const run_request& request)
{
    tree.folder("/dev/shm");
    tree.folder("/dev/pts");  // empty but in a lasting cell
    tree.link("/dev/ptmx", "pts/ptmx");
    for (const char* path : run_devices) tree.file(path, "");
    tree.link("/dev/fd", "/proc/self/fd");
    tree.link("/dev/stdin", "/proc/self/fd/0");
    tree.link("/dev/stdout", "/proc/self/fd/1");
    tree.link("/dev/stderr", "/proc/self/fd/2");
    // Below the run's own /proc, over which they are mounted (jail.cpp).
    for (const auto& [name, content] : machine_figures(request.limits.memory))
        tree.file("/proc/" + name, content, 0444);
    for (const auto& [path, content] : kernel_settings()) tree.file("/proc/sys/" + path, content, 0444);
    for (const auto& path : {std::string("/proc"), std::string("/tmp"), request.workspace_inside}) tree.folder(path);
    add_given_files(tree);
}

// Folders that programs expect of a machine; nothing of this one is in them. What a run may write is its own, so
// /var/tmp is its /tmp.
void add_usual_folders(tree_builder& tree)
{
    for (const char* path :
         {"/opt", "/srv", "/mnt", "/media", "/home", "/var/cache", "/var/lib", "/var/log", "/var/spool"})
        tree.folder(path);
    tree.folder("/root", 0711);  // a browser may lie below it
    tree.link("/var/run", "/run");
    tree.link("/var/tmp", "/tmp");
}

void add_devices(tree_builder& tree)
{
    for (const char* path : run_devices) add_device(tree, path);
}

void add_file(tree_builder& tree, const std::string& path)
{
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw step_failed("find " + path);
    if (status.st_size > copy_limit)
        bind_read_only(tree, path);
    else
        tree.copy(path, path);
}

void add_listed_programs(tree_builder& tree, const view_files& files)
{
    add_system_links(tree);
    for (const auto& [path, target] : files.links) tree.link(path, target);
    for (const auto& path : files.directories) bind_read_only(tree, path);
    for (const auto& path : files.programs) add_file(tree, path);
    for (const auto& path : files.libraries) add_file(tree, path);
}

// The path of a program that the machine has and the run may execute; empty: there is none.
std::string shown_program(const program_view& programs, const std::string& name)
{
    const auto& names = programs.names;
    if (!programs.all && std::find(names.begin(), names.end(), name) == names.end()) return {};
    return find_program(name).value_or("");
}

void fill(tree_builder& tree, view& filled, const run_request& request)
{
    if (request.programs.all) {
        add_all_programs(tree);
        filled.rules = rules_of(request, nullptr);
        for (const char* folder : installed_into) filled.marks.add(folder);
    } else {
        const auto files = resolve_view(request.programs, {request.argv.at(0)});
        filled.marks = files.marks;
        add_listed_programs(tree, files);
        filled.rules = rules_of(request, &files);
    }
    mark_etc_files(filled.marks, request.programs.all);
    add_etc_files(tree, account_of(request), request.programs.all);
    add_mount_points(tree, request);
    add_usual_folders(tree);
    add_missing_names(tree, [&](const std::string& name) { return shown_program(request.programs, name); });
    add_devices(tree);
    if (request.browser) add_browser_files(tree, filled, request);
}

unique_fd open_folder(const std::string& folder)
{
    return unique_fd(check(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "prepare a root"));
}

void mount_root_memory(const std::string& folder)
{
    check(::mkdir(folder.c_str(), 0755), "prepare a root");
    const auto root = new_tmpfs({1ull << 30, 65536, "755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "prepare a root");
    attach_mount(root.get(), AT_FDCWD, folder, "prepare a root");
}

void remove_mounted(const std::string& folder)
{
    detach_mounts(folder);
    ::rmdir(folder.c_str());
}

// The way to an open folder, whatever happens to its name.
std::string way_to(const unique_fd& folder) { return "/proc/self/fd/" + std::to_string(folder.get()); }

}  // namespace

view_store::view_store(std::string images, const std::string& data)
    : images_folder_(std::move(images)), images_(images_folder_), stage_(stage_folder())
{
    if (!data.empty()) data_ = unique_fd(check(::open(data.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), "open " + data));
    const auto stage = new_tmpfs({1 << 20, 1024, "755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "mount the stage");
    attach_mount(stage.get(), AT_FDCWD, stage_, "mount the stage");
    own_files_ = own_folders::possible(stage_ + "/trial");
}

unique_fd view_store::open_image(const std::string& digest) const
{
    if (images_folder_.empty() || !is_sha256_hex(digest)) throw step_failed("read the digest of the image", EINVAL);
    return images_.open(images_folder_ + "/" + digest + "/root", O_PATH, "image");
}

// An image that was removed and added again is another folder.
std::string view_store::key_of(const run_request& request) const
{
    std::string key = (request.machine ? "machine\n" : "") + request.principal + '\n' + request.workspace_inside +
                      '\n' + request.user + '\n' + std::to_string(request.limits.memory);
    if (!request.image.empty()) {
        struct stat status {};
        check(::fstat(open_image(request.image).get(), &status), "open image");
        return key + "\n" + request.image + '\n' + std::to_string(status.st_ino) + '\n' +
               std::to_string(status.st_ctim.tv_sec) + '.' + std::to_string(status.st_ctim.tv_nsec);
    }
    if (request.browser) return key + "\n" + request.argv.at(0) + '\n' + request.browser.policy;
    if (request.programs.all) return key;
    for (const auto& name : request.programs.names) key += '\n' + name;
    return key + "\n\n" + request.argv.at(0);
}

const view& view_store::find(const run_request& request)
{
    const std::string key = key_of(request);
    const auto known = std::find_if(views_.begin(), views_.end(), [&](const view& v) { return v.key == key; });
    if (known != views_.end()) {
        views_.splice(views_.begin(), views_, known);
        const bool may_look = std::chrono::steady_clock::now() >= views_.front().next_look;
        if (may_look && !views_.front().marks.still_true()) build_anew(views_.front(), request);
        return views_.front();
    }
    views_.push_front(build(key, request));
    if (views_.size() > most_views) {
        forget(views_.back());
        views_.pop_back();
    }
    return views_.front();
}

// In the middle of an installation there may be no view to build; the next look finds the end of it.
void view_store::build_anew(view& old, const run_request& request)
try {
    view fresh = build(old.key, request);
    forget(old);
    old = std::move(fresh);
} catch (const std::exception&) {
    constexpr std::chrono::seconds pause{1};
    old.next_look = std::chrono::steady_clock::now() + pause;
}

view view_store::build(const std::string& key, const run_request& request)
{
    check_workspace_path(request.workspace_inside);
    const auto began = std::chrono::steady_clock::now();
    view fresh{key, stage_ + "/" + std::to_string(made_++), {}, {}, {}, request.programs.all, {}, {}, {}};
    try {
        if (request.machine)
            show_class_machine(fresh, request);
        else if (request.image.empty())
            show_machine(fresh, request);
        else
            show_image(fresh, request);
        if (data_ && !request.browser && !request.machine) show_data(fresh);
        set_mount_attributes(fresh.root.get(), read_only, false, "protect the prepared root");
    } catch (...) {
        forget(fresh);
        throw;
    }
    const auto now = std::chrono::steady_clock::now();
    fresh.next_look = now + pause_factor * (now - began);
    return fresh;
}

// The folder itself and no copy, because its owner changes it while runs go on.
void view_store::show_data(const view& fresh) const
{
    tree_builder tree(open_folder(fresh.mount_point));
    tree.bind(way_to(data_), data_path, read_only | MOUNT_ATTR_NOEXEC);
}

// Root inside may change the attributes of mounts, but nobody can write to an overlay without a folder for it, nor
// connect to a socket in one.
unique_fd view_store::overlay_of_data() const
{
    if (!data_) return {};
    const std::string empty = machine_stage() + "/empty";
    if (::mkdir(empty.c_str(), 0755) != 0 && errno != EEXIST) throw step_failed("show the data");
    unique_fd overlay = new_overlay({way_to(data_), empty}, "show the data");
    set_mount_attributes(overlay.get(), MOUNT_ATTR_NOEXEC, false, "protect the data");
    return overlay;
}

void view_store::show_machine(view& fresh, const run_request& request) const
{
    mount_root_memory(fresh.mount_point);
    fresh.root = open_folder(fresh.mount_point);
    own_folders folders(fresh.mount_point + "-folders");
    tree_builder tree(open_folder(fresh.mount_point),
                      [&](const std::string& path) { return own_files_ ? folders.source_of(path) : path; });
    fill(tree, fresh, request);
    if (request.programs.all || request.browser) return;
    fresh.execution = prepare_execution(fresh.root.get(), std::exchange(fresh.rules.read_execute, {}));
}

int view_store::begin_machines(identities& ids)
{
    prepare_machines(ids);
    return machines_->begin();
}

void view_store::prepare_machines(identities& ids)
{
    if (machines_) return;
    std::vector<std::string> places{"", "/disk"};
    for (int i = 0; i != most_staged; ++i) places.push_back("/" + std::to_string(i));
    for (const auto& place : places)
        if (::mkdir((machine_stage() + place).c_str(), 0755) != 0 && errno != EEXIST)
            throw step_failed("prepare a machine");
    machines_.emplace(stage_, ids);
}

// The overlays of a machine show no mounts, so its root has files alone and further folders have overlays of their own.
void view_store::show_class_machine(view& fresh, const run_request& request)
{
    if (!machines_) throw step_failed("prepare a machine", EINVAL);
    mount_root_memory(fresh.mount_point);
    fresh.root = open_folder(fresh.mount_point);
    tree_builder tree(open_folder(fresh.mount_point));
    fresh.layers.push_back({"/", {machines_->own(fresh.mount_point)}});
    add_mount_points(tree, request);
    if (data_) tree.folder(data_path);
    fresh.rules = rules_of(request, nullptr);
    if (!request.image.empty()) {
        const std::string image = fresh.mount_point + "-image";
        check(::mkdir(image.c_str(), 0755), "prepare a root");
        const auto root = copy_mount(open_image(request.image).get(), "", "show the image");
        attach_mount(root.get(), AT_FDCWD, image, "show the image");
        fresh.layers.front().lower.push_back(machines_->own(image));
        add_image_accounts(tree, open_image(request.image).get(), account_of(request));
        machines_->add_home(tree, account_of(request));
        return;
    }
    for (const char* folder : installed_into) fresh.marks.add(folder);
    mark_etc_files(fresh.marks, true);
    add_system_links(tree);
    machines_->add_home(tree, account_of(request));
    add_machine_files(tree, account_of(request));
    add_etc_files(tree, account_of(request), false);
    add_usual_folders(tree);
    add_missing_names(tree, [&](const std::string& name) { return shown_program(request.programs, name); });
    for (const auto& folder : machine_program_folders()) fresh.layers.push_back(machines_->layer_of(folder));
}

// The image is for everybody and for reading only, so the run's own mount points lie in a layer above it.
void view_store::show_image(view& fresh, const run_request& request) const
{
    const std::string above = fresh.mount_point + "-above";
    const unique_fd image = open_image(request.image);
    mount_root_memory(above);
    try {
        const unique_fd layer = open_folder(above);
        tree_builder tree(open_folder(above));
        add_mount_points(tree, request);
        if (data_) tree.folder(data_path);
        add_image_accounts(tree, image.get(), account_of(request));
        const tree_builder inside(open_image(request.image));
        const auto program_inside = [&](const std::string& name) -> std::string {
            for (const char* folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"})
                if (inside.exists(folder + name)) return folder + name;
            return {};
        };
        add_missing_names(tree, program_inside);
        check(::mkdir(fresh.mount_point.c_str(), 0755), "prepare a root");
        const auto root = new_overlay({way_to(layer), way_to(image)}, "show the image");
        attach_mount(root.get(), AT_FDCWD, fresh.mount_point, "show the image");
    } catch (...) {
        remove_mounted(above);
        throw;
    }
    remove_mounted(above);
    fresh.root = open_folder(fresh.mount_point);
    tree_builder tree(open_folder(fresh.mount_point));
    add_devices(tree);
    fresh.rules = rules_of(request, nullptr);
}

std::string view_store::protected_program(const std::string& path)
{
    std::string copy = stage_ + path.substr(path.rfind('/'));
    if (std::filesystem::exists(copy)) return copy;
    const auto tree = copy_mount_tree(AT_FDCWD, path, "open " + path);
    set_mount_attributes(tree.get(), read_only, true, "protect " + path);
    const unique_fd file(check(::open(copy.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0755), "protect " + path));
    attach_mount(tree.get(), AT_FDCWD, copy, "protect " + path);
    return copy;
}

void view_store::forget(const view& old)
{
    remove_mounted(old.mount_point);
    remove_mounted(old.mount_point + "-image");  // of a machine alone
}

}  // namespace cmcp::sandbox
