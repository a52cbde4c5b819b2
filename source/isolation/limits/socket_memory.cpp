#include "limits/socket_memory.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <set>

namespace cmcp::sandbox {
namespace {

constexpr std::uint32_t all_states = ~0u;

template <class Body>
struct diag_request {
    nlmsghdr header{sizeof(diag_request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0};
    Body body{};
};

// Bytes that wait to be read, to be sent, and to be acknowledged.
std::uint64_t waiting(const rtattr* attribute, int length, int memory_info)
{
    for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length)) {
        if (attribute->rta_type != memory_info ||
            RTA_PAYLOAD(attribute) <= SK_MEMINFO_WMEM_QUEUED * sizeof(std::uint32_t))
            continue;
        std::uint32_t values[SK_MEMINFO_VARS] = {};
        std::memcpy(values, RTA_DATA(attribute), std::min<std::size_t>(RTA_PAYLOAD(attribute), sizeof values));
        return std::uint64_t{values[SK_MEMINFO_RMEM_ALLOC]} +
               std::max(values[SK_MEMINFO_WMEM_ALLOC], values[SK_MEMINFO_WMEM_QUEUED]);
    }
    return 0;
}

// Adds up one piece of the answer. False: it was the last.
bool add_message(const char* bytes, std::size_t length, std::size_t body, int memory_info, std::uint64_t& sum)
{
    auto left = static_cast<unsigned>(length);
    for (auto* each = reinterpret_cast<const nlmsghdr*>(bytes); NLMSG_OK(each, left); each = NLMSG_NEXT(each, left)) {
        if (each->nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;  // the end, or an error
        const char* data = static_cast<const char*>(NLMSG_DATA(each));
        const auto* attributes = reinterpret_cast<const rtattr*>(data + NLMSG_ALIGN(body));
        const int rest = static_cast<int>(each->nlmsg_len) - static_cast<int>(NLMSG_LENGTH(NLMSG_ALIGN(body)));
        sum += waiting(attributes, rest, memory_info);
    }
    return true;
}

template <class Body>
std::uint64_t total(int statistics, const diag_request<Body>& query, std::size_t body, int memory_info)
{
    std::uint64_t sum = 0;
    if (::send(statistics, &query, sizeof query, MSG_DONTWAIT) != sizeof query) return 0;
    alignas(nlmsghdr) std::array<char, 32 * 1024> answer;
    for (;;) {
        const ssize_t length = ::recv(statistics, answer.data(), answer.size(), MSG_DONTWAIT);
        if (length <= 0 || !add_message(answer.data(), static_cast<std::size_t>(length), body, memory_info, sum))
            return sum;
    }
}

// The ports in one piece of the answer. False: it was the last.
bool add_ports(const char* bytes, std::size_t length, std::set<std::uint16_t>& ports)
{
    auto left = static_cast<unsigned>(length);
    for (auto* each = reinterpret_cast<const nlmsghdr*>(bytes); NLMSG_OK(each, left); each = NLMSG_NEXT(each, left)) {
        if (each->nlmsg_type != SOCK_DIAG_BY_FAMILY || each->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg)))
            return false;
        inet_diag_msg message;
        std::memcpy(&message, NLMSG_DATA(each), sizeof message);
        ports.insert(ntohs(message.id.idiag_sport));
    }
    return true;
}

void add_listening_ports(int statistics, unsigned char family, std::set<std::uint16_t>& ports)
{
    constexpr int most_pieces = 64;
    diag_request<inet_diag_req_v2> query;
    query.body.sdiag_family = family;
    query.body.sdiag_protocol = IPPROTO_TCP;
    query.body.idiag_states = 1 << TCP_LISTEN;
    if (::send(statistics, &query, sizeof query, MSG_DONTWAIT) != sizeof query) return;
    alignas(nlmsghdr) std::array<char, 32 * 1024> answer;
    for (int piece = 0; piece != most_pieces; ++piece) {
        const ssize_t length = ::recv(statistics, answer.data(), answer.size(), MSG_DONTWAIT);
        if (length <= 0 || !add_ports(answer.data(), static_cast<std::size_t>(length), ports)) return;
    }
}

std::uint64_t local_sockets(int statistics)
{
    diag_request<unix_diag_req> query;
    query.body.sdiag_family = AF_UNIX;
    query.body.udiag_states = all_states;
    query.body.udiag_show = UDIAG_SHOW_MEMINFO;
    return total(statistics, query, sizeof(unix_diag_msg), UNIX_DIAG_MEMINFO);
}

std::uint64_t internet_sockets(int statistics, unsigned char family, unsigned char protocol)
{
    diag_request<inet_diag_req_v2> query;
    query.body.sdiag_family = family;
    query.body.sdiag_protocol = protocol;
    query.body.idiag_states = all_states;
    query.body.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
    return total(statistics, query, sizeof(inet_diag_msg), INET_DIAG_SKMEMINFO);
}

}  // namespace

unique_fd open_socket_statistics()
{
    return unique_fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
}

bool has_internet_sockets(std::string_view sockstat)
{
    for (const std::string_view kind : {"TCP: inuse ", "TCP6: inuse ", "UDP: inuse ", "UDP6: inuse "}) {
        const auto at = sockstat.find(kind);
        if (at != std::string_view::npos && sockstat.substr(at + kind.size(), 1) != "0") return true;
    }
    return false;
}

std::uint64_t socket_memory(int statistics, bool internet)
{
    std::uint64_t sum = local_sockets(statistics);
    if (!internet) return sum;
    for (const unsigned char family : {AF_INET, AF_INET6})
        for (const unsigned char protocol : {IPPROTO_TCP, IPPROTO_UDP})
            sum += internet_sockets(statistics, family, protocol);
    return sum;
}

std::vector<std::uint16_t> listening_ports(int statistics)
{
    constexpr std::ptrdiff_t most_ports = 1000;
    std::set<std::uint16_t> ports;
    for (const unsigned char family : {AF_INET, AF_INET6}) add_listening_ports(statistics, family, ports);
    const auto count = std::min<std::ptrdiff_t>(most_ports, std::ssize(ports));
    return {ports.begin(), std::next(ports.begin(), count)};
}

}  // namespace cmcp::sandbox
