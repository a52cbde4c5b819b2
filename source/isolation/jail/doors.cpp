#include "jail/doors.hpp"

#include "facilities/setup_step.hpp"
#include "jail/jail.hpp"
#include "posix/unique_fd.hpp"
#include "wire/packet_socket.hpp"
#include "wire/run_request.hpp"
#include "wire/wire.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace cmcp::sandbox {
namespace {

constexpr const char* names_step = "give the sandbox's network the addresses of names";
constexpr int waiting_connections = 128;
constexpr int loopback = 1;  // its number in every network (LOOPBACK_IFINDEX of the kernel)

// A range of addresses that are all the machine's own, as `ip route add local RANGE dev lo` makes it.
template <std::size_t length>
struct local_route {
    nlmsghdr header{sizeof(local_route), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, 1, 0};
    rtmsg route{};
    rtattr to{RTA_LENGTH(length), RTA_DST};
    std::array<std::uint8_t, length> range{};
    rtattr over{RTA_LENGTH(sizeof loopback), RTA_OIF};
    int device = loopback;
};

template <std::size_t length>
struct own_address {
    nlmsghdr header{sizeof(own_address), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, 1, 0};
    ifaddrmsg address{0, 8 * length, 0, RT_SCOPE_HOST, loopback};
    rtattr own{RTA_LENGTH(length), IFA_LOCAL};
    std::array<std::uint8_t, length> bytes{};
};

// The kernel's errno, or 0.
int answer_of(int kernel)
{
    alignas(nlmsghdr) std::array<char, 1024> answer;
    const auto count = static_cast<std::size_t>(check(::recv(kernel, answer.data(), answer.size(), 0), names_step));
    nlmsghdr header{};
    nlmsgerr result{};
    if (count < NLMSG_LENGTH(sizeof result)) throw step_failed(names_step, EBADMSG);
    std::memcpy(&header, answer.data(), sizeof header);
    std::memcpy(&result, answer.data() + NLMSG_HDRLEN, sizeof result);
    return header.nlmsg_type == NLMSG_ERROR ? -result.error : EBADMSG;
}

template <class Order>
int ask_kernel(const Order& order)
{
    const unique_fd kernel(check(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), names_step));
    check(::send(kernel.get(), &order, sizeof order, 0), names_step);
    return answer_of(kernel.get());
}

template <std::size_t length>
int make_local(std::uint8_t family, const std::array<std::uint8_t, length>& range, std::uint8_t prefix)
{
    local_route<length> order;
    order.route.rtm_family = family;
    order.route.rtm_dst_len = prefix;
    order.route.rtm_table = RT_TABLE_LOCAL;
    order.route.rtm_protocol = RTPROT_STATIC;
    order.route.rtm_scope = RT_SCOPE_HOST;
    order.route.rtm_type = RTN_LOCAL;
    order.range = range;
    return ask_kernel(order);
}

// A kernel may lack IPv6, or have it switched off for new networks.
bool worked_for_v6(int error)
{
    constexpr int without[] = {EAFNOSUPPORT, EOPNOTSUPP, EACCES, ENODEV};
    if (error == 0) return true;
    if (std::find(std::begin(without), std::end(without), error) == std::end(without))
        throw step_failed(names_step, error);
    return false;
}

bool make_local_v6() { return worked_for_v6(make_local(AF_INET6, names_range_v6, names_prefix_v6)); }

// Without SO_REUSEADDR, with which a program could bind the same port and get the datagrams.
template <class Address>
unique_fd socket_at(const Address& address, sa_family_t family, int type, const std::string& step)
{
    unique_fd door(check(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), step));
    const int no = 0;
    if (family == AF_INET6) check(::setsockopt(door.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no), step);
    check(::bind(door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), step);
    if (type == SOCK_STREAM) check(::listen(door.get(), waiting_connections), step);
    return door;
}

std::string step_of(std::uint16_t port) { return "open port " + std::to_string(port) + " of the sandbox's network"; }

unique_fd door_v4(in_addr_t address, std::uint16_t port, int type)
{
    sockaddr_in endpoint{};
    endpoint.sin_family = AF_INET;
    endpoint.sin_port = htons(port);
    endpoint.sin_addr.s_addr = htonl(address);
    return socket_at(endpoint, AF_INET, type, step_of(port));
}

// For both families.
unique_fd door_v6(std::uint16_t port)
{
    sockaddr_in6 endpoint{};
    endpoint.sin6_family = AF_INET6;
    endpoint.sin6_port = htons(port);
    return socket_at(endpoint, AF_INET6, SOCK_STREAM, step_of(port));
}

}  // namespace

void add_loopback_addresses()
{
    own_address<4> v4;
    v4.address.ifa_family = AF_INET;
    v4.address.ifa_prefixlen = 8;
    v4.bytes = {127, 0, 0, 2};
    if (const int error = ask_kernel(v4); error != 0) throw step_failed(names_step, error);
    own_address<16> v6;
    v6.address.ifa_family = AF_INET6;
    v6.bytes = {0xfd, 0x63, 0x6d, 0x63, 0x70, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    worked_for_v6(ask_kernel(v6));
}

bool stands_for_name(const in_addr& address)
{
    const std::uint32_t host_bits = (1u << (32 - names_prefix_v4)) - 1;
    in_addr range{};
    std::memcpy(&range, names_range_v4.data(), sizeof range);
    return (ntohl(address.s_addr) & ~host_bits) == ntohl(range.s_addr);
}

bool stands_for_name(const in6_addr& address)
{
    return std::memcmp(&address, names_range_v6.data(), names_prefix_v6 / 8) == 0;
}

namespace {

std::vector<unique_fd> doors_of_names(const std::vector<std::uint16_t>& ports)
{
    constexpr std::uint16_t resolver_port = 53;
    if (const int error = make_local(AF_INET, names_range_v4, names_prefix_v4); error != 0)
        throw step_failed(names_step, error);
    const bool has_v6 = make_local_v6();
    std::vector<unique_fd> doors;
    doors.push_back(door_v4(INADDR_LOOPBACK, resolver_port, SOCK_DGRAM));
    doors.push_back(door_v4(INADDR_LOOPBACK, first_proxy_port, SOCK_STREAM));
    for (const std::uint16_t port : ports)
        doors.push_back(has_v6 ? door_v6(port) : door_v4(INADDR_ANY, port, SOCK_STREAM));
    return doors;
}

}  // namespace

void hand_over_doors(int control, const std::vector<std::uint16_t>& ports, bool tools)
{
    std::vector<unique_fd> doors;
    if (!ports.empty()) doors = doors_of_names(ports);
    if (tools) doors.push_back(door_v4(INADDR_LOOPBACK, tools_port, SOCK_STREAM));
    const packet message{encoded(child_says::doors), std::move(doors)};
    if (!send_packet(control, message)) throw step_failed("hand over the sandbox's network", EAGAIN);
}

}  // namespace cmcp::sandbox
