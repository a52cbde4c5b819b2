#include "egress/client_opening.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cmcp {
namespace {

constexpr unsigned char handshake_record = 0x16, tls_major = 3, client_hello = 1;
constexpr std::size_t longest_record = 1 << 14;
constexpr std::size_t longest_method = 20;
constexpr std::uint16_t server_name = 0;

/// Numbers and parts of a message; what is not there is empty, and `bad` says so.
class hello_reader {
public:
    explicit hello_reader(std::string_view bytes) : rest_(bytes) {}

    std::size_t number(std::size_t bytes)
    {
        std::size_t value = 0;
        for (const char c : take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }
    std::string_view part(std::size_t bytes_of_length)
    {
        const std::size_t length = number(bytes_of_length);
        return take(length);
    }
    std::string_view take(std::size_t bytes)
    {
        bad = bad || bytes > rest_.size();
        if (bad) return {};
        const auto taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }
    bool at_end() const { return rest_.empty(); }

    bool bad = false;

private:
    std::string_view rest_;
};

// The list may hold one name of a kind, and the only kind is a host.
std::optional<std::string> host_in(std::string_view extension)
{
    hello_reader list(extension);
    hello_reader names(list.part(2));
    const bool is_host = names.number(1) == 0;
    const auto name = names.part(2);
    if (list.bad || !list.at_end() || names.bad || !names.at_end() || !is_host || name.empty()) return std::nullopt;
    return std::string(name);
}

client_opening read_hello(std::string_view body)
{
    constexpr std::size_t version_and_random = 34;
    hello_reader hello(body);
    hello.take(version_and_random);
    hello.part(1);  // session
    hello.part(2);  // ciphers
    hello.part(1);  // compressions
    hello_reader extensions(hello.part(2));
    client_opening opening{client_opening::kind::tls};
    int names = 0;
    while (!extensions.at_end() && !extensions.bad) {
        const bool is_name = extensions.number(2) == server_name;
        const auto content = extensions.part(2);
        if (is_name && ++names == 1) opening.name = host_in(content);
    }
    if (hello.bad || extensions.bad || names > 1) opening.name.reset();
    return opening;
}

// A ClientHello may lie in several records (RFC 8446 section 5.1).
client_opening look_at_tls(std::string_view bytes)
{
    std::string message;
    while (bytes.size() >= 5) {
        hello_reader record(bytes);
        const bool is_handshake = record.number(1) == handshake_record && record.number(1) == tls_major;
        record.number(1);
        const std::size_t length = record.number(2);
        if (!is_handshake || length == 0 || length > longest_record) return {client_opening::kind::other};
        message += bytes.substr(5, length);
        if (!message.empty() && message[0] != client_hello) return {client_opening::kind::other};
        if (message.size() >= 4) {
            hello_reader whole(message);
            whole.number(1);
            const std::size_t wanted = whole.number(3);
            const auto body = whole.take(wanted);
            if (!whole.bad) return read_hello(body);
        }
        if (bytes.size() < 5 + length) break;
        bytes.remove_prefix(5 + length);
    }
    return {};
}

client_opening look_at_text(std::string_view bytes)
{
    const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
    const auto end = static_cast<std::size_t>(std::find_if_not(bytes.begin(), bytes.end(), is_letter) - bytes.begin());
    if (end == bytes.size() && end <= longest_method) return {};
    const bool is_method = end > 0 && end <= longest_method && bytes[end] == ' ';
    // The preface of HTTP/2 (RFC 9113 section 3.4) looks like a request.
    return {is_method && bytes.substr(0, end) != "PRI" ? client_opening::kind::http : client_opening::kind::other};
}

}  // namespace

client_opening look_at_opening(std::string_view bytes)
{
    if (bytes.empty()) return {};
    const bool tls = static_cast<unsigned char>(bytes[0]) == handshake_record;
    if (tls && bytes.size() > 1 && static_cast<unsigned char>(bytes[1]) != tls_major)
        return {client_opening::kind::other};
    return tls ? look_at_tls(bytes) : look_at_text(bytes);
}

}  // namespace cmcp
