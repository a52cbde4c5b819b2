#include "egress/named_request.hpp"

#include "text/ascii.hpp"

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/verb.hpp>

#include <algorithm>
#include <string>

namespace cmcp {
namespace {

namespace http = boost::beast::http;

[[noreturn]] void refuse_request(const host& who, std::uint16_t port, const std::string& why)
{
    throw bad_url(who.with_port(port) + " is refused: the request " + why);
}

bool is_for(const std::string& url, const host& who, std::uint16_t port)
{
    try {
        const auto read = web_url::parse(url);
        return !read.secure && read.who == who && read.port == port;
    } catch (const bad_url&) {
        return false;
    }
}

// A Host without a port means the one of the connection, because its server reads no other.
bool is_host_for(const std::string& text, const host& who, std::uint16_t port)
{
    if (text.find_first_of("/?#\\") != std::string::npos) return false;
    return is_for("http://" + text, who, port) || is_for("http://" + text + ":" + std::to_string(port), who, port);
}

// A server that reads the length of the body in another way would read part of it as a further request.
void check_framing(const http::request_header<>& request, const host& who, std::uint16_t port)
{
    const auto encodings = request.count(http::field::transfer_encoding);
    const bool chunked = equal_ignoring_case(trimmed(request[http::field::transfer_encoding]), "chunked");
    if (encodings > 1 || (encodings == 1 && !chunked) || request.count(http::field::content_length) > 1)
        refuse_request(who, port, "has a body whose length can be read in several ways.");
}

}  // namespace

web_url named_request_url(const http::request_header<>& request, const host& who, std::uint16_t port)
{
    const std::string target(request.target()), named(request[http::field::host]);
    if (request.method() == http::verb::connect)
        refuse_request(who, port, "is a CONNECT, which only the proxy of the sandbox takes.");
    if (request.count(http::field::host) != 1) refuse_request(who, port, "does not have one field Host.");
    if (!is_host_for(named, who, port))
        refuse_request(who, port, "is for the host " + named.substr(0, 100) + "; connect to that name instead.");
    check_framing(request, who, port);
    const bool origin_form = target.starts_with('/') || target == "*";
    if (!origin_form && !is_for(target, who, port))
        refuse_request(who, port, "is for " + target.substr(0, 100) + "; connect to its host instead.");
    web_url url = origin_form ? web_url{} : web_url::parse(target);
    if (origin_form) url.target = target;
    url.who = who;
    url.port = port;
    return url;
}

}  // namespace cmcp
