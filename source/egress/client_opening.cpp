#include "egress/client_opening.hpp"

#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp {
namespace {

using begins_as = client_opening::kind;

/// Reads numbers and vectors of TLS (RFC 8446 section 3) from the front. What is not there makes it bad.
struct tls_reader {
    std::string_view rest;
    bool bad = false;

    std::string_view take(std::size_t size)
    {
        bad = bad || size > rest.size();
        if (bad) return {};
        const auto taken = rest.substr(0, size);
        rest.remove_prefix(size);
        return taken;
    }
    std::size_t number(std::size_t bytes)
    {
        std::size_t value = 0;
        for (const char c : take(bytes)) value = value << 8 | static_cast<unsigned char>(c);
        return value;
    }
    tls_reader vector(std::size_t size_bytes) { return {take(number(size_bytes)), bad}; }
};

// RFC 6066 section 3: one name of the one type that there is.
bool read_server_name(tls_reader extension, std::string& name)
{
    auto list = extension.vector(2);
    const bool is_name = list.number(1) == 0;
    name = list.vector(2).rest;
    return is_name && !name.empty() && !list.bad && list.rest.empty() && extension.rest.empty();
}

// Two server names could be read as the one or the other.
client_opening read_hello(std::string_view body)
{
    client_opening bad{begins_as::bad, {}};
    client_opening hello{begins_as::tls, {}};
    tls_reader reader{body};
    reader.take(2 + 32);  // legacy_version, random
    reader.vector(1);     // legacy_session_id
    reader.vector(2);     // cipher_suites
    reader.vector(1);     // legacy_compression_methods
    if (!reader.bad && reader.rest.empty()) return hello;
    auto extensions = reader.vector(2);
    if (reader.bad || !reader.rest.empty()) return bad;
    while (!extensions.rest.empty()) {
        const auto type = extensions.number(2);
        const auto data = extensions.vector(2);
        if (extensions.bad) return bad;
        if (type != 0) continue;
        if (!hello.server_name.empty() || !read_server_name(data, hello.server_name)) return bad;
    }
    return hello;
}

// A handshake message may be cut into records anywhere (RFC 8446 section 5.1).
client_opening look_at_tls(std::string_view bytes)
{
    std::string message;
    while (bytes.size() >= 5) {
        tls_reader header{bytes.substr(0, 5)};
        const auto type = header.number(1), major = header.number(1);
        header.number(1);
        const auto size = header.number(2);
        if (type != 22 || major != 3 || size == 0 || size > 16384) return {begins_as::bad, {}};
        message.append(bytes.substr(5, size));
        if (!message.empty() && message[0] != 1) return {begins_as::bad, {}};
        if (message.size() >= 4) {
            const auto whole = tls_reader{std::string_view(message).substr(1)}.number(3);
            if (whole > client_opening::longest) return {begins_as::bad, {}};
            if (message.size() >= 4 + whole) return read_hello(std::string_view(message).substr(4, whole));
        }
        bytes.remove_prefix(std::min(bytes.size(), 5 + size));
    }
    return {};
}

bool is_token_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Rather more is taken for HTTP than its parser takes, because a lenient server would read it as HTTP, too.
client_opening look_at_text(std::string_view bytes)
{
    bytes.remove_prefix(std::min(bytes.find_first_not_of("\r\n \t"), bytes.size()));
    const auto end = bytes.find('\n');
    const auto line = bytes.substr(0, end);
    const auto token = std::find_if_not(line.begin(), line.end(), is_token_character);
    const bool begins_so = token == line.end() || *token == ' ' || *token == '\t' || *token == '\r';
    if (!begins_so || line.starts_with("PRI * HTTP/2")) return {begins_as::other, {}};
    if (end == std::string_view::npos) return {};
    const bool is_http = lower_case(line).find("http/") != std::string::npos;
    return {is_http ? begins_as::http : begins_as::other, {}};
}

}  // namespace

client_opening client_opening::look(std::string_view bytes)
{
    if (bytes.empty()) return {};
    const bool tls = bytes.front() == 22 && (bytes.size() == 1 || bytes[1] == 3);
    auto opening = tls ? look_at_tls(bytes) : look_at_text(bytes);
    if (opening.is == kind::more && bytes.size() >= 2 * longest) opening.is = kind::bad;
    return opening;
}

std::string server_name_problem(const std::string& server_name, const host& who, std::uint16_t port)
{
    if (server_name.empty() && who.address) return {};
    const std::string begin = who.with_port(port) + " is refused: the TLS handshake ";
    if (server_name.empty()) return begin + "names no server (SNI), so it cannot be checked; let the client send it.";
    try {
        if (read_host(server_name) == who) return {};
    } catch (const bad_host&) {  // is another name, too
    }
    return begin + "is for " + server_name.substr(0, 100) + "; connect to that name instead.";
}

}  // namespace cmcp
