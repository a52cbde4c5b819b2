#include "egress/dns_answer.hpp"

#include "egress/dns_query.hpp"

#include <cstdint>

namespace cmcp {
namespace {

namespace ip = boost::asio::ip;

enum rcode : std::uint16_t { no_error = 0, form_error = 1, name_error = 3, not_implemented = 4 };
constexpr std::uint16_t type_a = 1, type_aaaa = 28, class_in = 1;
constexpr std::uint32_t seconds_to_live = 60;

void put_word(std::string& into, std::uint32_t word)
{
    into += static_cast<char>(word >> 8 & 0xff);
    into += static_cast<char>(word & 0xff);
}

// RFC 1035 section 4.1.1. A resolver that asks for recursion wants to read that there is some.
std::string begin_answer(const dns_query& query, rcode code, std::uint16_t records)
{
    constexpr unsigned response = 0x8000, recursion_desired = 0x0100, recursion_available = 0x0080;
    std::string answer;
    put_word(answer, query.id);
    put_word(answer, response | (query.flags & (0x7800u | recursion_desired)) | recursion_available | code);
    put_word(answer, query.bytes.empty() ? 0 : 1);
    put_word(answer, records);
    put_word(answer, 0);
    put_word(answer, 0);
    return answer.append(query.bytes);
}

std::string with_address(const dns_query& query, const ip::address& address)
{
    constexpr std::uint32_t name_of_question = 0xc00c;  // a pointer to it (RFC 1035 section 4.1.4)
    std::string answer = begin_answer(query, no_error, 1);
    for (const std::uint32_t word : {name_of_question, std::uint32_t{query.type}, std::uint32_t{class_in}})
        put_word(answer, word);
    put_word(answer, 0);
    put_word(answer, seconds_to_live);
    put_word(answer, address.is_v6() ? 16 : 4);
    const auto add = [&](const auto& bytes) { answer.append(bytes.begin(), bytes.end()); };
    address.is_v6() ? add(address.to_v6().to_bytes()) : add(address.to_v4().to_bytes());
    return answer;
}

// RFC 6761 section 6.3.
ip::address loopback(bool v6)
{
    return v6 ? ip::address(ip::address_v6::loopback()) : ip::address(ip::address_v4::loopback());
}

// Addresses have no names here, nor have services records (RFC 2782), and programs ask for both so often that a refusal
// would only be noise.
std::optional<host> host_of(const dns_query& query)
{
    const bool is_other = query.name.ends_with(".arpa") || query.name.starts_with('_');
    if (query.network_class != class_in || is_other) return std::nullopt;
    try {
        host who = read_host(query.name);
        return who.address ? std::nullopt : std::optional(who);
    } catch (const bad_host&) {
        return std::nullopt;
    }
}

}  // namespace

std::optional<std::string> answer_names(std::string_view message, name_addresses& names, const name_judge& judge)
{
    const auto query = dns_query::read(message);
    if (query.is == dns_query::state::dropped) return std::nullopt;
    if (query.is == dns_query::state::not_supported) return begin_answer(query, not_implemented, 0);
    if (query.is == dns_query::state::malformed) return begin_answer(query, form_error, 0);
    const auto who = host_of(query);
    const bool local = who && (who->name == "localhost" || who->name.ends_with(".localhost"));
    if (!who || (!local && !judge(*who))) return begin_answer(query, name_error, 0);
    const bool v6 = query.type == type_aaaa;
    if (!v6 && query.type != type_a) return begin_answer(query, no_error, 0);
    return with_address(query, local ? loopback(v6) : names.address_of(who->name, v6));
}

}  // namespace cmcp
