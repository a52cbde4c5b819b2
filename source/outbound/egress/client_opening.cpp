#include "egress/client_opening.hpp"

#include "egress/tls_hellos.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp {
namespace {

using begins_as = client_opening::kind;

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

bool client_opening::is_tls(std::string_view bytes)
{
    return !bytes.empty() && bytes[0] == 22 && (bytes.size() == 1 || bytes[1] == 3);
}

client_opening client_opening::parse(std::string_view bytes)
{
    if (bytes.empty()) return {};
    auto opening = is_tls(bytes) ? tls_hellos().parse(bytes) : look_at_text(bytes);
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
