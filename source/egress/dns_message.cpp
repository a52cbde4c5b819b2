#include "egress/dns_message.hpp"

#include <boost/endian/conversion.hpp>

namespace cmcp {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::size_t longest_wire_label = 63;
constexpr std::size_t longest_wire_name = 255;  // as in the message
constexpr std::uint32_t seconds_to_keep = 60;
constexpr std::uint16_t internet = 1;

std::uint16_t number_at(std::string_view bytes, std::size_t at)
{
    return boost::endian::load_big_u16(reinterpret_cast<const unsigned char*>(bytes.data()) + at);
}

void append_number(std::string& to, std::uint16_t number)
{
    to += static_cast<char>(number >> 8);
    to += static_cast<char>(number & 0xff);
}

bool is_plain(std::string_view label)
{
    for (const char c : label)
        if (static_cast<unsigned char>(c) <= ' ' || c == '.' || static_cast<unsigned char>(c) >= 0x7f) return false;
    return true;
}

// A question has no pointers to other names. 0: it is none.
std::size_t read_name(std::string_view bytes, std::string& name)
{
    std::size_t at = 0;
    bool plain = true;
    for (;;) {
        if (at >= bytes.size() || at >= longest_wire_name) return 0;
        const std::size_t length = static_cast<unsigned char>(bytes[at++]);
        if (length == 0) break;
        if (length > longest_wire_label || at + length > bytes.size()) return 0;
        const auto label = bytes.substr(at, length);
        plain = plain && is_plain(label);
        if (!name.empty()) name += '.';
        name += label;
        at += length;
    }
    if (!plain) name.clear();
    return at;
}

void read_section(std::string_view rest, dns_question& into)
{
    const std::size_t length = read_name(rest, into.name);
    if (length == 0 || rest.size() < length + 4) return;
    into.section = rest.substr(0, length + 4);
    into.type = number_at(rest, length);
    into.readable = number_at(rest, length + 2) == internet;
}

}  // namespace

std::optional<dns_question> read_dns_question(std::string_view message)
{
    constexpr unsigned answers_bit = 0x80;
    if (message.size() < header_bytes || (static_cast<unsigned char>(message[2]) & answers_bit) != 0)
        return std::nullopt;
    dns_question question;
    question.header = message.substr(0, header_bytes);
    const bool is_plain_query = (static_cast<unsigned char>(message[2]) & 0x78) == 0;
    const bool is_one = number_at(message, 4) == 1 && number_at(message, 6) == 0 && number_at(message, 8) == 0;
    if (is_plain_query && is_one) read_section(message.substr(header_bytes), question);
    return question;
}

std::string write_dns_answer(const dns_question& question, dns::outcome outcome,
                             const std::optional<boost::asio::ip::address>& address)
{
    constexpr unsigned response_with_authority = 0x84, recursion_wanted = 0x01, recursion_there = 0x80;
    std::string answer(question.header.substr(0, 2));
    const unsigned wanted = static_cast<unsigned char>(question.header[2]) & recursion_wanted;
    answer += static_cast<char>(response_with_authority | wanted);
    answer += static_cast<char>(recursion_there | static_cast<unsigned>(outcome));
    append_number(answer, question.section.empty() ? 0 : 1);
    append_number(answer, address ? 1 : 0);
    append_number(answer, 0);
    append_number(answer, 0);
    answer += question.section;
    if (!address) return answer;
    constexpr std::uint16_t name_of_question = 0xc000 | header_bytes;
    append_number(answer, name_of_question);
    append_number(answer, address->is_v4() ? dns::a : dns::aaaa);
    append_number(answer, internet);
    append_number(answer, 0);
    append_number(answer, seconds_to_keep);
    const auto append = [&](const auto& bytes) {
        append_number(answer, static_cast<std::uint16_t>(bytes.size()));
        answer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    if (address->is_v4()) append(address->to_v4().to_bytes());
    if (address->is_v6()) append(address->to_v6().to_bytes());
    return answer;
}

}  // namespace cmcp
