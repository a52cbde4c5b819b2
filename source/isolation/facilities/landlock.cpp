#include "facilities/landlock.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace cmcp::sandbox {
namespace {

// The kernel's own header may be older than the kernel that this runs on.
enum access : std::uint64_t {
    execute = 1u << 0,
    write_file = 1u << 1,
    read_file = 1u << 2,
    read_dir = 1u << 3,
    remove_dir = 1u << 4,
    remove_file = 1u << 5,
    make_char = 1u << 6,
    make_dir = 1u << 7,
    make_reg = 1u << 8,
    make_sock = 1u << 9,
    make_fifo = 1u << 10,
    make_block = 1u << 11,
    make_sym = 1u << 12,
    refer = 1u << 13,      // 2
    truncate = 1u << 14,   // 3
    ioctl_dev = 1u << 15,  // 5
};

constexpr std::uint64_t scope_abstract_sockets = 1u << 0;
constexpr std::uint64_t scope_signals = 1u << 1;
constexpr unsigned create_version_flag = 1u << 0;
constexpr int rule_path_beneath = 1;

struct ruleset_attributes {
    std::uint64_t handled_files;
    std::uint64_t handled_net;
    std::uint64_t scoped;
};

// Packed in the kernel's interface.
struct [[gnu::packed]] path_beneath {
    std::uint64_t allowed;
    std::int32_t parent;
};

constexpr std::uint64_t reading = read_file | read_dir;
constexpr std::uint64_t running = reading | execute;
constexpr std::uint64_t writing = reading | write_file | remove_dir | remove_file | make_dir | make_reg | make_sock |
                                  make_fifo | make_sym | refer | truncate | ioctl_dev;
constexpr std::uint64_t removing = reading | remove_dir | remove_file;
constexpr std::uint64_t on_plain_files = execute | write_file | read_file | truncate | ioctl_dev;

std::uint64_t known_rights(int abi)
{
    std::uint64_t known = (std::uint64_t{make_sym} << 1) - 1;
    if (abi >= 2) known |= refer;
    if (abi >= 3) known |= truncate;
    if (abi >= 5) known |= ioctl_dev;
    return known;
}

// A field the kernel does not know must be zero, and then it accepts the longer structure.
unique_fd create_ruleset(const ruleset_attributes& attributes)
{
    constexpr unsigned flags = 0;
    return unique_fd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, flags)));
}

std::uint64_t scopes(int abi, bool signals_outside)
{
    if (abi < 6) return 0;
    return scope_abstract_sockets | (signals_outside ? 0 : scope_signals);
}

unique_fd open_beneath(int root, const std::string& path)
{
    if (root == AT_FDCWD) return unique_fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return unique_fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

bool allow(int ruleset, int root, const std::string& path, std::uint64_t rights)
{
    const unique_fd entry = open_beneath(root, path);
    if (!entry) return errno == ENOENT || errno == ENOTDIR;
    struct stat kind {};
    if (::fstat(entry.get(), &kind) != 0) return false;
    if (!S_ISDIR(kind.st_mode)) rights &= on_plain_files;
    path_beneath rule{rights, entry.get()};
    return ::syscall(SYS_landlock_add_rule, ruleset, rule_path_beneath, &rule, 0) == 0;
}

bool allow_all(int ruleset, int root, const std::vector<std::string>& paths, std::uint64_t rights)
{
    for (const std::string& path : paths)
        if (!allow(ruleset, root, path, rights)) return false;
    return true;
}

bool restrict_to(int ruleset)
{
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

}  // namespace

int landlock_abi()
{
    long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, create_version_flag);
    return version < 0 ? 0 : static_cast<int>(version);
}

// Of several rulesets all must allow something, and each lets pass what it does not handle: so one that handles nothing
// but execution can be everybody's. Moves between folders are the exception, which each must allow.
unique_fd prepare_execution(int root, const std::vector<std::string>& paths)
{
    const int abi = landlock_abi();
    if (abi == 0) return {};
    const std::uint64_t moves = refer & known_rights(abi);
    unique_fd ruleset = create_ruleset({execute | moves, 0, 0});
    const bool allowed = ruleset && allow_all(ruleset.get(), root, paths, execute) &&
                         (moves == 0 || allow(ruleset.get(), root, "/", moves));
    if (!allowed) throw std::system_error(errno, std::generic_category(), "Landlock");
    return ruleset;
}

bool apply_landlock(const landlock_rules& rules, int execution)
{
    const int abi = landlock_abi();
    if (abi == 0) return true;
    if (execution >= 0 && !restrict_to(execution)) return false;
    const std::uint64_t known = known_rights(abi) & (execution >= 0 ? ~std::uint64_t{execute} : ~std::uint64_t{0});
    const unique_fd ruleset = create_ruleset({known, 0, scopes(abi, rules.signals_outside)});
    if (!ruleset) return false;
    if (!allow_all(ruleset.get(), AT_FDCWD, rules.read_execute, running & known)) return false;
    if (!allow_all(ruleset.get(), AT_FDCWD, rules.read_only, reading & known)) return false;
    const std::uint64_t all_writing = writing | (rules.whiteouts ? std::uint64_t{make_char} : 0);
    if (!allow_all(ruleset.get(), AT_FDCWD, rules.read_write, all_writing & known)) return false;
    if (!allow_all(ruleset.get(), AT_FDCWD, rules.read_remove, removing & known)) return false;
    return restrict_to(ruleset.get());
}

}  // namespace cmcp::sandbox
