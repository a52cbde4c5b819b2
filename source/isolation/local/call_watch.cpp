#include "local/call_watch.hpp"

#include "jail/doors.hpp"
#include "jail/local_call.hpp"
#include "local/filters.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

namespace cmcp::sandbox {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr std::uint32_t own_arch = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t own_arch = AUDIT_ARCH_AARCH64;
#endif

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();  // of an argument: relative to the working folder

// Calls that change what a path names: the arguments with the folder and the path.
struct change_of_path {
    int number;
    std::size_t folder, path;
};

constexpr change_of_path changes[] = {
#ifdef SYS_open
    {SYS_mkdir, none, 0},    {SYS_rmdir, none, 0},  {SYS_unlink, none, 0},  {SYS_rename, none, 0},
    {SYS_rename, none, 1},   {SYS_link, none, 1},   {SYS_symlink, none, 1},
#endif
    {SYS_mkdirat, 0, 1},     {SYS_unlinkat, 0, 1},
#ifdef SYS_renameat
    {SYS_renameat, 0, 1},    {SYS_renameat, 2, 3},
#endif
    {SYS_renameat2, 0, 1},   {SYS_renameat2, 2, 3}, {SYS_linkat, 2, 3},     {SYS_symlinkat, 1, 2},
    {SYS_truncate, none, 0},
};

bool writes(std::uint64_t flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// The filter of all other runs refuses it by the same arguments.
bool makes_set_id(std::uint64_t flags, std::uint64_t mode)
{
    constexpr std::uint64_t creates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
    return (flags & creates) != 0 && (mode & (S_ISUID | S_ISGID)) != 0;
}

// The machine's own folder may have it.
bool lacks(const fs::path& path, bool writes)
{
    std::error_code unknown;
    return !fs::exists(fs::symlink_status(writes ? path.parent_path() : path, unknown));
}

int error_of_socket(int family)
{
    if (family == AF_INET || family == AF_INET6) return EPERM;
    return family == AF_NETLINK ? EPROTONOSUPPORT : EAFNOSUPPORT;
}

std::string words_of_socket(int family)
{
    switch (family) {
        case AF_INET:
        case AF_INET6:
            return "socket: raw sockets and protocols other than TCP and UDP";
        case AF_UNIX:
            return "socket: UNIX sockets for datagrams";
        case AF_NETLINK:
            return "socket: AF_NETLINK, but for reading the interfaces";
        default:
            return "socket: address family " + std::to_string(family);
    }
}

}  // namespace

call_watch::call_watch(unique_fd listener, const file_rules& rules, const local_names& names,
                       std::vector<dev_t> own_memory, bool has_network, reporter report)
    : listener_(std::move(listener)),
      rules_(rules),
      names_(names),
      sockets_(std::move(own_memory)),
      has_network_(has_network),
      report_(std::move(report))
{
    seccomp_notif_sizes sizes{};
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) sizes = {};
    call_.resize(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
    reply_.resize(std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp)));
    constexpr std::uint64_t wake_up_at_once = 1;  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP of Linux 6.6
    ::ioctl(listener_.get(), SECCOMP_IOW(4, std::uint64_t), wake_up_at_once);
}

void call_watch::answer()
{
    pollfd wait{listener_.get(), POLLIN, 0};
    if (::poll(&wait, 1, 0) != 1) return;
    over_ = (wait.revents & POLLIN) == 0;
    std::ranges::fill(call_, std::byte{});  // the kernel wants zeros
    if (over_ || ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, call_.data()) != 0) return;
    const auto& call = *reinterpret_cast<const seccomp_notif*>(call_.data());
    const bool is_native = call.data.arch == own_arch && (static_cast<unsigned>(call.data.nr) & 0x40000000u) == 0;
    if (!is_native) {
        report_({denial::kind::call, "a program of another architecture, such as 32-bit x86"});
        ::kill(static_cast<pid_t>(call.pid), SIGSYS);
    }
    if (is_native && hand_over(call)) return;
    const int error = is_native ? judge(call) : ENOSYS;
    std::ranges::fill(reply_, std::byte{});
    auto& reply = *reinterpret_cast<seccomp_notif_resp*>(reply_.data());
    reply.id = call.id;
    reply.error = -error;
    if (error == 0) reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &reply);  // fails only when the caller has gone
}

bool call_watch::hand_over(const seccomp_notif& call)
{
    std::optional<decoded_call> decoded = decode_local_call(call, listener_);
    if (!decoded) return false;
    if (!decoded->call) {
        answer_call(listener_.get(), call.id, decoded->error);
        return true;
    }
    local_call& wanted = *decoded->call;
    const std::string order = encode_local_order(0, wanted);
    std::vector<unique_fd> descriptors;
    descriptors.push_back(std::move(wanted.listener));
    if (wanted.what != local_call::kind::make) {
        descriptors.push_back(std::move(wanted.folder));
        descriptors.push_back(std::move(wanted.socket));
    }
    sockets_.take(std::string_view(order).substr(1), std::move(descriptors));
    note_refused_sockets();
    return true;
}

void call_watch::try_again()
{
    sockets_.try_again();
    note_refused_sockets();
}

void call_watch::note_refused_sockets()
{
    for (const auto& each : sockets_.take_refusals()) report_({denial::kind::call, each.text});
}

int call_watch::judge(const seccomp_notif& call)
{
    const auto& args = call.data.args;
    const int number = call.data.nr;
    if (number == SYS_connect) note_connect(call);
    if (number == SYS_connect || number == SYS_bind) return 0;
    const auto open = [&](std::size_t folder, std::size_t path, std::uint64_t flags, std::uint64_t mode) {
        if (makes_set_id(flags, mode)) return EPERM;
        note_file(call, folder, path, writes(flags));
        return 0;
    };
#ifdef SYS_open
    if (number == SYS_open) return open(none, 0, args[1], args[2]);
    if (number == SYS_creat) return open(none, 0, O_CREAT | O_WRONLY, args[1]);
#endif
    if (number == SYS_openat) return open(0, 1, args[2], args[3]);
    bool is_change = false;
    for (const change_of_path& each : changes) {
        if (each.number != number) continue;
        is_change = true;
        note_file(call, each.folder, each.path, true);
    }
    if (is_change) return 0;
    const auto family = static_cast<int>(args[0]);
    report_({denial::kind::call, number == SYS_socket ? words_of_socket(family) : name_of_call(number)});
    return number == SYS_socket ? error_of_socket(family) : EPERM;
}

// A resolver that sorts addresses (RFC 6724) connects sockets for datagrams to port 0 or 9 and sends nothing.
void call_watch::note_connect(const seccomp_notif& call)
{
    sockaddr_storage to{};
    const std::size_t length = std::min<std::size_t>(call.data.args[2], sizeof to);
    iovec here{&to, length};
    iovec there{reinterpret_cast<void*>(call.data.args[1]), length};
    if (::process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0) != static_cast<ssize_t>(length))
        return;
    sockaddr_in plain{};
    std::string text;
    if (to.ss_family == AF_INET) {
        std::memcpy(&plain, &to, sizeof plain);
    } else if (to.ss_family == AF_INET6) {
        const auto& six = reinterpret_cast<const sockaddr_in6&>(to);
        plain.sin_port = six.sin6_port;
        if (IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr)) return;
        if (has_network_ && stands_for_name(six.sin6_addr)) return;
        char address[INET6_ADDRSTRLEN] = {};
        ::inet_ntop(AF_INET6, &six.sin6_addr, address, sizeof address);
        if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
            std::memcpy(&plain.sin_addr, six.sin6_addr.s6_addr + 12, sizeof plain.sin_addr);
        else
            text = address;
    } else {
        return;
    }
    const std::uint16_t port = ntohs(plain.sin_port);
    if (port == 0 || port == 9) return;
    const std::uint32_t address = ntohl(plain.sin_addr.s_addr);
    if (text.empty() && (address >> 24 == 127 || address == 0)) return;
    if (text.empty() && has_network_ && stands_for_name(plain.sin_addr)) return;
    if (text.empty()) {
        char dotted[INET_ADDRSTRLEN] = {};
        ::inet_ntop(AF_INET, &plain.sin_addr, dotted, sizeof dotted);
        text = names_.name_of(plain.sin_addr).value_or(dotted);
    }
    report_({denial::kind::connect, std::move(text), port});
}

void call_watch::note_file(const seccomp_notif& call, std::size_t folder, std::size_t path, bool writes)
{
    auto named = path_of(call, folder, path);
    if (!named) return;
    // A link may lead from what may be written to elsewhere.
    if (writes || rules_.access(*named) == access_to_files::writable) {
        std::error_code unknown;
        const fs::path real = fs::weakly_canonical(*named, unknown);
        if (!unknown) named = real.string();
    }
    const access_to_files access = rules_.access(*named);
    const bool is_refused_write = writes && (access == access_to_files::readable || access == access_to_files::guarded);
    if (access == access_to_files::hidden || is_refused_write ||
        (access == access_to_files::own && lacks(*named, writes)))
        report_({writes ? denial::kind::write : denial::kind::read, *named});
}

std::optional<std::string> call_watch::path_of(const seccomp_notif& call, std::size_t folder, std::size_t path) const
{
    std::string text = text_at(call, call.data.args[path]);
    if (text.empty()) return std::nullopt;
    if (text[0] != '/') {
        const auto number = folder == none ? AT_FDCWD : static_cast<int>(call.data.args[folder]);
        const std::string process = "/proc/" + std::to_string(call.pid);
        const std::string link = number == AT_FDCWD ? process + "/cwd" : process + "/fd/" + std::to_string(number);
        char target[4096];
        const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
        if (length <= 0 || target[0] != '/') return std::nullopt;
        text = std::string(target, static_cast<std::size_t>(length)) + "/" + text;
    }
    std::string plain = fs::path(text).lexically_normal().string();
    while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
    return plain;
}

// Up to the end of each page, because the next one may not be there.
std::string call_watch::text_at(const seccomp_notif& call, std::uint64_t address) const
{
    constexpr std::uint64_t page = 4096, most = 4096;
    std::string text;
    while (text.size() < most) {
        char piece[256];
        const std::uint64_t at = address + text.size();
        const std::uint64_t length = std::min<std::uint64_t>(sizeof piece, page - at % page);
        iovec here{piece, length};
        iovec there{reinterpret_cast<void*>(at), length};
        if (::process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0) != static_cast<ssize_t>(length))
            return {};
        const auto* end = static_cast<const char*>(std::memchr(piece, 0, length));
        text.append(piece, end == nullptr ? length : static_cast<std::size_t>(end - piece));
        if (end != nullptr) return text;
    }
    return {};
}

}  // namespace cmcp::sandbox
