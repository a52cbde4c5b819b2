#include "wire/packet_socket.hpp"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t most_descriptors = 40;

union control_space {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * most_descriptors)];
};

void attach(msghdr& message, control_space& space, std::span<const int> descriptors)
{
    message.msg_control = space.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
}

void collect(msghdr& message, packet& into)
{
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            into.descriptors.emplace_back(fd);
        }
    }
}

}  // namespace

std::pair<unique_fd, unique_fd> socket_pair(int type)
{
    int ends[2];
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::system_error(errno, std::system_category(), "socketpair");
    return {unique_fd(ends[0]), unique_fd(ends[1])};
}

bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors)
{
    if (bytes.size() > longest_packet) throw std::system_error(EMSGSIZE, std::system_category(), "sendmsg");
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    control_space space{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) attach(message, space, descriptors);
    for (;;) {
        if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
        if (errno == EAGAIN || errno == ENOBUFS) return false;
        if (errno != EINTR) throw std::system_error(errno, std::system_category(), "sendmsg");
    }
}

bool send_packet(int socket, const packet& message)
{
    std::vector<int> numbers;
    for (const unique_fd& each : message.descriptors) numbers.push_back(each.get());
    return send_packet(socket, message.bytes, numbers);
}

void send_packet_waiting(int socket, std::string_view bytes, std::span<const int> descriptors)
{
    while (!send_packet(socket, bytes, descriptors)) {
        pollfd room{socket, POLLOUT, 0};
        ::poll(&room, 1, -1);
    }
}

std::optional<packet> receive_packet(int socket)
{
    packet result;
    // Not cleared before each use: a fresh clone would have to copy every page of it.
    static thread_local char room[longest_packet];
    iovec part{room, sizeof room};
    msghdr message{};
    control_space space{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.bytes;
    message.msg_controllen = sizeof space.bytes;
    // A peer that ended without reading all it was sent is reported once, by ECONNRESET, ahead of what it had sent
    // before.
    ssize_t length;
    do length = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (length < 0 && (errno == EINTR || errno == ECONNRESET));
    if (length < 0 && errno == EAGAIN) return std::nullopt;
    if (length < 0) throw std::system_error(errno, std::system_category(), "recvmsg");
    collect(message, result);
    result.bytes.assign(room, static_cast<std::size_t>(length));
    return result;
}

std::optional<packet> wait_for_packet(int socket, int limit_ms)
{
    pollfd wait{socket, POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&wait, 1, limit_ms)) < 0 && errno == EINTR) {
    }
    if (ready != 1) return std::nullopt;
    auto received = receive_packet(socket);
    return received && !received->bytes.empty() ? std::move(received) : std::nullopt;
}

packet await_packet(int socket)
{
    for (;;) {
        pollfd wait{socket, POLLIN, 0};
        ::poll(&wait, 1, -1);
        if (auto message = receive_packet(socket)) return std::move(*message);
    }
}

packet await_packet_or_end(int socket)
{
    packet message = await_packet(socket);
    if (message.bytes.empty()) ::_exit(1);
    return message;
}

}  // namespace cmcp::sandbox
