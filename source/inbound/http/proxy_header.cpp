#include "http/proxy_header.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace cmcp {

namespace {

namespace ip = boost::asio::ip;
using header_state = proxy_header::state;

constexpr std::string_view text_mark = "PROXY ";
constexpr std::string_view binary_mark("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t longest_line = 107;  // with its end
constexpr std::size_t binary_head = 16;

bool is_beginning_of(std::string_view whole, std::string_view bytes)
{
    return whole.substr(0, bytes.size()) == bytes.substr(0, whole.size());
}

// The next word of a line whose words one space divides; empty: there is none.
std::string_view next_word(std::string_view& line)
{
    const auto word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    return word;
}

bool is_port(std::string_view text)
{
    if (!all_digits(text) || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return false;
    return std::stoul(std::string(text)) <= 65'535;
}

std::optional<ip::address> address_in(std::string_view text, bool v6)
{
    boost::system::error_code error;
    const auto address = ip::make_address(text, error);
    const bool good = !error && address.is_v6() == v6 && text.find('%') == std::string_view::npos;
    return good ? std::optional(address) : std::nullopt;
}

// "TCP4 <client> <server> <port> <port>", or "UNKNOWN" and anything.
proxy_header read_line(std::string_view line, std::size_t size)
{
    const std::string_view kind = next_word(line);
    if (kind == "UNKNOWN") return {header_state::read, size, std::nullopt};
    const bool v6 = kind == "TCP6";
    if (!v6 && kind != "TCP4") return {header_state::refused};
    const auto client = address_in(next_word(line), v6), server = address_in(next_word(line), v6);
    const std::string_view client_port = next_word(line);
    if (!client || !server || !is_port(client_port) || !is_port(line)) return {header_state::refused};
    return {header_state::read, size, client};
}

proxy_header look_at_text(std::string_view bytes)
{
    const auto end = bytes.substr(0, longest_line).find("\r\n");
    if (end != std::string_view::npos)
        return read_line(bytes.substr(text_mark.size(), end - text_mark.size()), end + 2);
    return {bytes.size() < longest_line ? header_state::more : header_state::refused};
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

template <class Address>
std::optional<ip::address> address_at(std::string_view bytes)
{
    typename Address::bytes_type raw;
    std::copy_n(bytes.begin() + binary_head, raw.size(), raw.begin());
    return Address(raw);
}

proxy_header read_binary(std::string_view bytes)
{
    constexpr std::uint8_t local = 0x20, proxy = 0x21;
    constexpr std::uint8_t unspecified = 0, tcp4 = 0x11, tcp6 = 0x21, unix_stream = 0x31;
    constexpr std::size_t size_of_tcp4 = 12, size_of_tcp6 = 36, size_of_unix = 216;
    const auto command = byte_at(bytes, 12), family = byte_at(bytes, 13);
    const auto room = bytes.size() - binary_head;
    if (command == local || (command == proxy && family == unspecified))
        return {header_state::read, bytes.size(), std::nullopt};
    if (command != proxy) return {header_state::refused};
    if (family == unix_stream && room >= size_of_unix) return {header_state::read, bytes.size(), std::nullopt};
    if (family == tcp4 && room >= size_of_tcp4)
        return {header_state::read, bytes.size(), address_at<ip::address_v4>(bytes)};
    if (family == tcp6 && room >= size_of_tcp6)
        return {header_state::read, bytes.size(), address_at<ip::address_v6>(bytes)};
    return {header_state::refused};
}

proxy_header look_at_binary(std::string_view bytes)
{
    if (bytes.size() < binary_head) return {header_state::more};
    const std::size_t size = binary_head + 256u * byte_at(bytes, 14) + byte_at(bytes, 15);
    if (size > proxy_header::longest) return {header_state::refused};
    return bytes.size() < size ? proxy_header{header_state::more} : read_binary(bytes.substr(0, size));
}

}  // namespace

proxy_header proxy_header::look(std::string_view bytes)
{
    if (is_beginning_of(text_mark, bytes))
        return bytes.size() < text_mark.size() ? proxy_header() : look_at_text(bytes);
    if (is_beginning_of(binary_mark, bytes)) return look_at_binary(bytes);
    return {header_state::none};
}

}  // namespace cmcp
