#include "launcher/machine_view.hpp"

#include "facilities/mounts.hpp"
#include "facilities/setup_step.hpp"
#include "posix/bytes.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* view_step = "prepare a machine";
constexpr const char* packages = "/var/lib/dpkg";

// Those of Debian's base-passwd, which maintainer scripts expect.
constexpr std::string_view base_accounts =
    "root:x:0:0:root:/root:/bin/bash\n"
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
    "sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
    "sync:x:4:65534:sync:/bin:/bin/sync\n"
    "games:x:5:60:games:/usr/games:/usr/sbin/nologin\n"
    "man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
    "lp:x:7:7:lp:/var/spool/lpd:/usr/sbin/nologin\n"
    "mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
    "news:x:9:9:news:/var/spool/news:/usr/sbin/nologin\n"
    "uucp:x:10:10:uucp:/var/spool/uucp:/usr/sbin/nologin\n"
    "proxy:x:13:13:proxy:/bin:/usr/sbin/nologin\n"
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
    "backup:x:34:34:backup:/var/backups:/usr/sbin/nologin\n"
    "list:x:38:38:Mailing List Manager:/var/list:/usr/sbin/nologin\n"
    "irc:x:39:39:ircd:/run/ircd:/usr/sbin/nologin\n"
    "_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

constexpr std::string_view base_groups =
    "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nlp:x:7:\nmail:x:8:\nnews:x:9:\n"
    "uucp:x:10:\nman:x:12:\nproxy:x:13:\nkmem:x:15:\ndialout:x:20:\nfax:x:21:\nvoice:x:22:\ncdrom:x:24:\nfloppy:x:25:\n"
    "tape:x:26:\naudio:x:29:\ndip:x:30:\nwww-data:x:33:\nbackup:x:34:\noperator:x:37:\nlist:x:38:\n"
    "irc:x:39:\nsrc:x:40:\nshadow:x:42:\nutmp:x:43:\nvideo:x:44:\nsasl:x:45:\nplugdev:x:46:\nstaff:x:50:\ngames:x:60:\n"
    "users:x:100:\ncrontab:x:101:\nnogroup:x:65534:\n";

// Settings that packages bring, the same on every machine of the distribution, and that their scripts read.
constexpr const char* copied_settings[] = {"/etc/adduser.conf",
                                           "/etc/bash.bashrc",
                                           "/etc/ca-certificates.conf",
                                           "/etc/debconf.conf",
                                           "/etc/deluser.conf",
                                           "/etc/dpkg",
                                           "/etc/inputrc",
                                           "/etc/ld.so.conf",
                                           "/etc/ld.so.conf.d",
                                           "/etc/login.defs",
                                           "/etc/magic",
                                           "/etc/magic.mime",
                                           "/etc/nanorc",
                                           "/etc/pam.conf",
                                           "/etc/pam.d",
                                           "/etc/perl",
                                           "/etc/profile",
                                           "/etc/profile.d",
                                           "/etc/rpc",
                                           "/etc/security/limits.conf",
                                           "/etc/shells",
                                           "/etc/skel",
                                           "/etc/ssl/openssl.cnf",
                                           "/etc/terminfo",
                                           "/etc/vim",
                                           "/etc/wgetrc",
                                           "/etc/xattr.conf",
                                           "/etc/apt/trusted.gpg.d"};

constexpr const char* own_folders_of_var[] = {"/var/backups",       "/var/cache/apt/archives/partial",
                                              "/var/cache/debconf", "/var/lib/apt/lists/partial",
                                              "/var/lib/dpkg",      "/var/lib/misc",
                                              "/var/lib/systemd",   "/var/local",
                                              "/var/log/apt",       "/var/mail",
                                              "/var/opt",           "/var/spool/mail",
                                              "/var/tmp",           "/var/www"};

constexpr const char* own_folders_of_etc[] = {"/etc/apt/apt.conf.d",
                                              "/etc/apt/preferences.d",
                                              "/etc/apt/sources.list.d",
                                              "/etc/default",
                                              "/etc/init.d",
                                              "/etc/rc0.d",
                                              "/etc/rc1.d",
                                              "/etc/rc2.d",
                                              "/etc/rc3.d",
                                              "/etc/rc4.d",
                                              "/etc/rc5.d",
                                              "/etc/rc6.d",
                                              "/etc/rcS.d",
                                              "/etc/systemd/system",
                                              "/etc/cron.d",
                                              "/etc/cron.daily",
                                              "/etc/opt"};

// Programs are root already. Scripts that ask for it by sudo, and leave its own rules aside, go on.
constexpr std::string_view sudo =
    "#!/bin/sh\n"
    "# Programs of this sandbox are root inside: this runs the command, as another account where -u names one.\n"
    "# Those of another account ask the daemon of the sandbox that began them.\n"
    "if [ \"$(id -u)\" != 0 ]; then exec /bin/bash -c '\n"
    "  LC_ALL=C; length=0; end=$(printf \"\\r\")\n"
    "  for each in \"$$\" \"$PWD\" \"$@\"; do length=$((length + ${#each} + 1)); done\n"
    "  { exec 3<>/dev/tcp/127.0.0.1/49983; } 2>/dev/null || { echo \"sudo: no daemon is here that may become root\" "
    ">&2; exit 1; }\n"
    "  (printf \"POST /sudo HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n\" "
    "\"$length\"\n"
    "  printf \"%s\\0\" \"$$\" \"$PWD\" \"$@\") >&3\n"
    "  while read -r -u 3 line && [ \"$line\" != \"$end\" ]; do :; done\n"
    "  read -r -u 3 status; case $status in {*) echo \"sudo: $status\" >&2; status=1 ;; esac; exit \"${status:-1}\"\n"
    "' sudo \"$@\"; fi\n"
    "user=\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in\n"
    "    -u|--user) user=$2; shift 2 ;;\n"
    "    -g|--group|-p|--prompt|-C|-h|-r|-t|-U|-T|-D|-R) shift 2 ;;\n"
    "    -i|--login|-s|--shell) shift; [ $# -gt 0 ] || set -- \"${SHELL:-/bin/bash}\" ;;\n"
    "    -l|--list|-v|--validate|-k|-K) exit 0 ;;\n"
    "    --) shift; break ;;\n"
    "    -*) shift ;;\n"
    "    *=*) export \"$1\"; shift ;;\n"
    "    *) break ;;\n"
    "  esac\n"
    "done\n"
    "[ $# -gt 0 ] || { echo 'usage: sudo [-u user] command' >&2; exit 1; }\n"
    "if [ -n \"$user\" ] && [ \"$user\" != root ]; then exec runuser -u \"$user\" -- \"$@\"; fi\n"
    "exec \"$@\"\n";

// There is no init that would start them; who needs a service starts it.
constexpr std::string_view no_services = "#!/bin/sh\nexit 101\n";

// Its own account needs a second id; lists and packages come over the sandbox's network.
constexpr std::string_view apt_settings =
    "APT::Sandbox::User \"root\";\nAPT::Install-Recommends \"false\";\nDPkg::Use-Pty \"false\";\n"
    "Acquire::Languages \"none\";\nDPkg::Options { \"--force-confold\"; };\n";

constexpr std::size_t longest_sources = 64 << 10;

// The package indexes that the operator has chosen for this machine. A file with a password in an address stays out.
void add_package_sources(tree_builder& tree)
{
    std::vector<fs::path> files{"/etc/apt/sources.list"};
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/etc/apt/sources.list.d", none)) files.push_back(entry.path());
    for (const auto& file : files) {
        const unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        struct stat status {};
        if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
        const std::string text = read_at(opened.get(), 0, longest_sources).value_or("");
        if ((status.st_mode & S_IROTH) != 0 && text.find('@') == std::string::npos) tree.file(file.string(), text);
    }
}

bool may_be_shown(const struct stat& status) { return (status.st_mode & S_IROTH) != 0; }

// Links are made as they are; what not everybody may read stays out.
void copy_all(tree_builder& tree, const fs::path& from)
{
    struct stat status {};
    if (::lstat(from.c_str(), &status) != 0) return;
    if (S_ISLNK(status.st_mode)) {
        std::error_code gone;
        const auto target = fs::read_symlink(from, gone);
        if (!gone) tree.link(from.string(), target.string());
    } else if (S_ISREG(status.st_mode) && may_be_shown(status)) {
        tree.copy(from.string(), from.string());
    } else if (S_ISDIR(status.st_mode) && may_be_shown(status)) {
        tree.folder(from.string());
        std::error_code hidden;
        for (const auto& entry : fs::directory_iterator(from, hidden)) copy_all(tree, entry.path());
    }
}

void add_accounts(tree_builder& tree, const run_account& user)
{
    const auto& [name, home] = user;
    tree.file("/etc/passwd", std::string(base_accounts) + name + ":x:1000:1000:" + name + ":" + home + ":/bin/bash\n");
    tree.file("/etc/group", std::string(base_groups) + "sudo:x:27:" + name + "\n" + name + ":x:1000:\n");
    tree.file("/etc/shadow", "root:*:19000:0:99999:7:::\n" + name + ":*:19000:0:99999:7:::\n", 0600);
    tree.file("/etc/gshadow", "root:*::\n", 0600);
}

void add_etc(tree_builder& tree, const run_account& user)
{
    add_accounts(tree, user);
    tree.file("/etc/environment", "");
    tree.file("/etc/fstab", "");
    tree.file("/etc/mtab", "");
    tree.file("/etc/apt/apt.conf.d/90sandbox", apt_settings);
    add_package_sources(tree);
    for (const char* path : own_folders_of_etc) tree.folder(path);
    for (const char* path : copied_settings) copy_all(tree, path);
    for (const auto& path : folders_of_etc()) copy_all(tree, path);
}

// All folders of the package manager's data, and the files that it writes to in their place.
void copy_packages(int to)
{
    const fs::path from = packages;
    const auto options = fs::directory_options::skip_permission_denied;
    std::error_code ended;
    for (fs::recursive_directory_iterator at(from, options, ended), end; !ended && at != end; at.increment(ended)) {
        const std::string inside = at->path().lexically_relative(from).string();
        std::error_code gone;
        if (at->is_symlink(gone)) continue;
        if (at->is_directory(gone)) {
            if (::mkdirat(to, inside.c_str(), 0755) != 0 && errno != EEXIST) throw step_failed(view_step);
        } else if (at->is_regular_file(gone) && !inside.starts_with("info/")) {
            tree_builder tree(unique_fd(check(::fcntl(to, F_DUPFD_CLOEXEC, 0), view_step)));
            struct stat status {};
            // Its accounts are this machine's, and the package manager stops where one is missing.
            const bool is_of_accounts = inside == "statoverride";
            if (!is_of_accounts && ::stat(at->path().c_str(), &status) == 0 && may_be_shown(status))
                tree.copy(at->path().string(), "/" + inside);
            else
                tree.file("/" + inside, "");
        }
    }
}

}  // namespace

void add_machine_files(tree_builder& tree, const run_account& user)
{
    add_etc(tree, user);
    for (const char* path : own_folders_of_var) tree.folder(path);
    tree.folder("/root", 0700);
    for (const auto& folder : machine_program_folders()) tree.folder(folder);
    tree.file(std::string(names_folder) + "/sudo", sudo, 0755);
    tree.file("/etc/profile.d/sandbox.sh",
              std::string("PATH=\"$HOME/.local/bin:$HOME/node_modules/.bin:$PATH:") + names_folder + "\"\n");
}

std::vector<std::string> machine_program_folders()
{
    std::vector<std::string> folders{"/usr"};
    std::error_code none;
    for (const char* path : system_folders)
        if (fs::is_directory(path, none) && !fs::is_symlink(path, none)) folders.emplace_back(path);
    if (fs::is_directory(packages, none)) folders.emplace_back(packages);
    return folders;
}

std::string machine_folders::next_place()
{
    std::string place = stage_ + "/machine-" + std::to_string(made_++);
    check(::mkdir(place.c_str(), 0755), view_step);
    return place;
}

std::string machine_folders::show(const std::string& folder)
{
    std::string place = next_place();
    const auto copy = copy_mount(AT_FDCWD, folder, "show " + folder);
    set_mount_attributes(copy.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false,
                         "protect " + folder);
    attach_mount(copy.get(), AT_FDCWD, place, "show " + folder);
    return place;
}

std::string machine_folders::new_memory(unique_fd& memory)
{
    std::string place = next_place();
    memory = new_tmpfs({1ull << 30, 1 << 20, "755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, view_step);
    attach_mount(memory.get(), AT_FDCWD, place, view_step);
    return place;
}

std::string machine_folders::copy_of_packages()
{
    unique_fd memory;
    std::string place = new_memory(memory);
    copy_packages(memory.get());
    return place;
}

// Each layer's folders are to be the machine's own where root inside does not own those that are shown.
int machine_folders::begin()
{
    if (copies_) return copies_->ended();
    if (std::exchange(begun_, true)) return -1;
    std::vector<std::pair<unique_fd, unique_fd>> all;
    for (const auto& folder : machine_program_folders()) {
        if (folder == packages) continue;
        shown_layer layer{folder};
        std::string shown = show(folder);
        const bool maps = can_map(shown);
        if (!maps) {
            auto& [from, to] = all.emplace_back();
            from = unique_fd(check(::open(shown.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), view_step));
            layer.lower.push_back(own(new_memory(to)));
        }
        layer.lower.push_back({std::move(shown), maps});
        prepared_.emplace(folder, std::move(layer));
    }
    if (all.empty()) {
        finish();
        return -1;
    }
    copies_.emplace(std::move(all));
    return copies_->ended();
}

void machine_folders::finish()
{
    if (!copies_ || copies_->take()) layers_.merge(prepared_);
    prepared_.clear();  // what could not be copied is tried again when it is needed
    copies_.reset();
}

bool machine_folders::can_map(const std::string& mount_point) const
{
    if (!ids_.privileged()) return false;
    const auto copy = copy_mount(AT_FDCWD, mount_point, view_step);
    return map_mount_ids(copy.get(), ids_.machine_programs_mapping(0));
}

// Elsewhere root is the only account that owns something.
void machine_folders::add_home(tree_builder& tree, const run_account& user) const
{
    tree.folder(user.home);
    if (ids_.machine_ranges()) tree.give(user.home, inside_ids);
}

shown_folder machine_folders::own(const std::string& mount_point) const { return {mount_point, ids_.privileged()}; }

const shown_layer& machine_folders::layer_of(const std::string& folder)
{
    if (const auto known = layers_.find(folder); known != layers_.end()) return known->second;
    shown_layer layer{folder};
    std::string shown = show(folder);
    const bool maps = can_map(shown);
    if (folder == packages) {
        layer.lower.push_back(own(copy_of_packages()));
    } else if (!maps) {
        unique_fd memory;
        layer.lower.push_back(own(new_memory(memory)));
        const unique_fd from(check(::open(shown.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), view_step));
        copy_folders(from.get(), memory.get());
    }
    layer.lower.push_back({std::move(shown), maps});
    return layers_.emplace(folder, std::move(layer)).first->second;
}

}  // namespace cmcp::sandbox
