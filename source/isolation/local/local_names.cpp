#include "local/local_names.hpp"

#include "facilities/setup_step.hpp"
#include "jail/doors.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t header_bytes = 12, most_names = 4096;
constexpr std::uint16_t resolver_port = 53;
constexpr std::uint32_t first_address = (198u << 24) | (18u << 16) | 1;  // of names_range_v4

std::uint16_t number_at(std::string_view bytes, std::size_t at)
{
    return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[at]) << 8 |
                                      static_cast<std::uint8_t>(bytes[at + 1]));
}

struct question {
    std::string name;
    std::uint16_t type = 0;
    std::size_t end = 0;  // in the query
};

std::optional<question> question_of(std::string_view query)
{
    if (query.size() < header_bytes || (number_at(query, 2) & 0xf800) != 0 || number_at(query, 4) != 1)
        return std::nullopt;
    question wanted;
    std::size_t at = header_bytes;
    while (at < query.size() && query[at] != 0) {
        const auto length = static_cast<std::uint8_t>(query[at]);
        if (length > 63 || at + 1 + length >= query.size()) return std::nullopt;
        for (const char each : query.substr(at + 1, length)) {
            if (each <= ' ' || each > '~' || each == '.') return std::nullopt;
            wanted.name += each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each;
        }
        wanted.name += '.';
        at += 1 + length;
    }
    if (at + 5 > query.size() || wanted.name.empty()) return std::nullopt;
    wanted.name.pop_back();
    wanted.type = number_at(query, at + 1);
    wanted.end = at + 5;
    return wanted;
}

}  // namespace

void local_names::open()
{
    constexpr const char* step = "open the resolver";
    socket_.reset(check(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), step));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(resolver_port);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), step);
}

void local_names::answer()
{
    char query[512];
    sockaddr_in from{};
    socklen_t length = sizeof from;
    for (ssize_t got;
         (got = ::recvfrom(socket_.get(), query, sizeof query, 0, reinterpret_cast<sockaddr*>(&from), &length)) > 0;
         length = sizeof from) {
        const std::string text = answer_to({query, static_cast<std::size_t>(got)});
        if (!text.empty())
            ::sendto(socket_.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&from), length);
    }
}

// Without an address of IPv6: programs take the other then.
std::string local_names::answer_to(std::string_view query)
{
    constexpr std::uint16_t host_address = 1;  // of IPv4
    const auto wanted = question_of(query);
    if (!wanted) return {};
    std::string text(query.substr(0, wanted->end));
    const bool has_answer = wanted->type == host_address;
    text[2] = static_cast<char>(0x81);
    text[3] = static_cast<char>(0x80);
    text[7] = static_cast<char>(has_answer ? 1 : 0);
    text[6] = text[8] = text[9] = text[10] = text[11] = 0;
    if (!has_answer) return text;
    // The name of the question, the kind, the Internet, a lifetime of one second, four bytes.
    text += std::string_view("\xc0\x0c\0\1\0\1\0\0\0\1\0\4", 12);
    const std::uint32_t address = htonl(address_of(wanted->name));
    return text.append(reinterpret_cast<const char*>(&address), sizeof address);
}

std::uint32_t local_names::address_of(const std::string& name)
{
    auto known = std::ranges::find(names_, name);
    if (known == names_.end() && names_.size() < most_names) known = names_.insert(names_.end(), name);
    return first_address + static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(known - names_.begin(), most_names - 1));
}

std::optional<std::string> local_names::name_of(const in_addr& address) const
{
    const std::uint32_t index = ntohl(address.s_addr) - first_address;
    if (!stands_for_name(address) || index >= names_.size()) return std::nullopt;
    return names_[index];
}

}  // namespace cmcp::sandbox
