#include "cell/local_sockets.hpp"

#include "cell/cell_orders.hpp"
#include "facilities/process_files.hpp"
#include "wire/wire.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace cmcp::sandbox {

template <class Wire>
void fields(Wire& wire, wired<Wire, local_call>& call)
{
    wire(call.what, call.id, call.family, call.type, call.number, call.waits, call.ends_at_exec, call.mask,
         call.address);
}

namespace {

using kind = local_call::kind;

constexpr int outside = -1;  // instead of an errno: the name is not the cell's own

struct local_address {
    sockaddr_un address{};
    socklen_t length = 0;
};

local_address address_of(std::string_view path)
{
    local_address to;
    to.address.sun_family = AF_UNIX;
    std::memcpy(to.address.sun_path, path.data(), path.size());
    to.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    return to;
}

bool is_abstract(const local_call& call) { return call.address.empty() || call.address[0] == '\0'; }

std::string path_of(const local_call& call) { return call.address.c_str(); }

int error_of(int result) { return result == 0 ? 0 : errno; }

int bind_at(int socket, std::string_view path)
{
    const local_address to = address_of(path);
    return error_of(::bind(socket, reinterpret_cast<const sockaddr*>(&to.address), to.length));
}

int connect_to(int socket, std::string_view path)
{
    const local_address to = address_of(path);
    return error_of(::connect(socket, reinterpret_cast<const sockaddr*>(&to.address), to.length));
}

// Those of this process's network, the number after their size: /proc/net/netlink lacks the ones without an address.
std::optional<unsigned long> netlink_sockets()
{
    constexpr std::string_view name = "\nNETLINK";
    const std::string all = read_text(AT_FDCWD, "/proc/self/net/protocols");
    const auto at = all.find(name);
    if (at == std::string::npos) return std::nullopt;
    char* number = nullptr;
    std::strtoul(all.c_str() + at + name.size(), &number, 10);
    return std::strtoul(number, nullptr, 10);
}

unique_fd interface_socket(const local_call& call, int flags)
{
    constexpr unsigned long most = 100;
    const auto now = netlink_sockets();
    errno = now ? ENFILE : EAFNOSUPPORT;  // without a /proc nobody knows how many there are
    if (!now || *now >= most) return {};
    return unique_fd(::socket(AF_NETLINK, call.type | flags, NETLINK_ROUTE));
}

unique_fd new_socket(const local_call& call)
{
    constexpr int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (call.what != kind::make) return unique_fd(::socket(AF_UNIX, call.type | flags, 0));
    if (call.family == AF_NETLINK) return interface_socket(call, flags);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, call.type | flags, 0, ends) != 0) return {};
    ::close(ends[1]);
    return unique_fd(ends[0]);
}

// Programs set them before they bind or connect.
void copy_options(int from, int to)
{
    for (const int name : {SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO}) {
        timeval value{};
        socklen_t length = sizeof value;
        if (::getsockopt(from, SOL_SOCKET, name, &value, &length) == 0)
            ::setsockopt(to, SOL_SOCKET, name, &value, length);
    }
}

std::string sentence(const local_call& call)
{
    const std::string what = call.what == kind::bind ? "bind" : "connect";
    std::string path = path_of(call);
    std::ranges::replace_if(
        path, [](char each) { return each < ' ' || each > '~'; }, '?');
    return what + " to the UNIX socket " + path +
           ": the sandbox has UNIX sockets below /tmp and /dev/shm and abstract ones, of its own programs alone";
}

/// Acts with another umask, and for a relative name in another working folder: this process has one thread.
class as_caller {
public:
    explicit as_caller(const local_call& call)
        : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)), mask_(::umask(call.mask))
    {
        if (call.address[0] == '/') return;
        entered_ = before_ && ::fchdir(call.folder.get()) == 0;
        failed_ = !entered_;
    }
    as_caller(const as_caller&) = delete;
    as_caller& operator=(const as_caller&) = delete;
    ~as_caller()
    {
        ::umask(mask_);
        if (entered_ && ::fchdir(before_.get()) != 0) ::_exit(1);  // programs would begin in a wrong folder
    }
    explicit operator bool() const { return !failed_; }

private:
    unique_fd before_;
    mode_t mask_;
    bool entered_ = false, failed_ = false;
};

}  // namespace

std::string encode_local_order(std::uint32_t program, const local_call& call)
{
    return encoded(cell_order::local, program, call);
}

std::vector<int> descriptors_of(const local_call& call)
{
    if (call.what == kind::make) return {call.listener.get()};
    return {call.listener.get(), call.folder.get(), call.socket.get()};
}

void local_sockets::take(std::string_view rest, std::vector<unique_fd> descriptors)
{
    wire_reader in(rest);
    order wanted;
    in(wanted.program, wanted.call);
    local_call& call = wanted.call;
    const bool is_new = call.what == kind::make;
    if (descriptors.size() != (is_new ? 1 : 3) || call.address.size() > sizeof(sockaddr_un::sun_path))
        throw std::runtime_error("an order of a socket is not complete");
    call.listener = std::move(descriptors[0]);
    if (!is_new) {
        call.folder = std::move(descriptors[1]);
        call.socket = std::move(descriptors[2]);
    }
    if (!carry_out(wanted)) waiting_.push_back(std::move(wanted));
}

void local_sockets::try_again()
{
    std::erase_if(waiting_, [this](const order& each) {
        return !still_waits(each.call.listener.get(), each.call.id) || carry_out(each);
    });
}

// False: it is to be tried again.
bool local_sockets::carry_out(const order& wanted)
{
    const local_call& call = wanted.call;
    const unique_fd socket = new_socket(call);
    int error = socket ? 0 : errno;
    if (socket && call.what != kind::make) copy_options(call.socket.get(), socket.get());
    if (socket && call.what == kind::bind) error = bind(call, socket.get());
    if (socket && call.what == kind::connect) error = connect(call, socket.get());
    if (error == EAGAIN && call.waits) return false;
    if (error == outside) {
        refusals_.push_back({wanted.program, sentence(call)});
        error = EACCES;
    }
    if (error == 0)
        answer_with(call, socket.get());
    else
        answer_call(call.listener.get(), call.id, error);
    return true;
}

// The socket listens at once: one that is bound and does not, the kernel would still connect. The name goes to the
// kernel as the caller wrote it, because it is what getsockname() tells. Where it leads elsewhere by then, only a file
// of the kind that mknod() makes comes about there.
int local_sockets::bind(const local_call& call, int socket) const
{
    int error = 0;
    if (is_abstract(call)) {
        error = bind_at(socket, call.address);
    } else {
        const as_caller caller_view(call);
        if (!caller_view) return EACCES;
        const std::string path = path_of(call);
        const auto slash = path.rfind('/');
        const std::string parent = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
        const unique_fd folder(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!folder) return errno;
        if (!is_own(folder.get())) return outside;
        error = bind_at(socket, call.address);
    }
    return error != 0 ? error : error_of(::listen(socket, SOMAXCONN));
}

// By the descriptor that was looked at: the name may lead elsewhere by now.
int local_sockets::connect(const local_call& call, int socket) const
{
    if (is_abstract(call)) return connect_to(socket, call.address);
    const unique_fd there(::openat(call.folder.get(), path_of(call).c_str(), O_PATH | O_CLOEXEC));
    if (!there) return errno;
    struct stat status {};
    if (::fstat(there.get(), &status) != 0) return errno;
    if (!S_ISSOCK(status.st_mode)) return ECONNREFUSED;
    if (!is_own(there.get())) return outside;
    return connect_to(socket, "/proc/self/fd/" + std::to_string(there.get()));
}

bool local_sockets::is_own(int descriptor) const
{
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 && std::ranges::find(own_, status.st_dev) != own_.end();
}

}  // namespace cmcp::sandbox
