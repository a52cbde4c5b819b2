#include "load/server_address.hpp"
#include "text/ascii.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>

#include <charconv>
#include <stdexcept>

namespace cmcp::load {

namespace urls = boost::urls;

namespace {

std::uint16_t default_port(bool secure) { return secure ? 443 : 80; }

// Returns 0 for a port that is out of range, because Boost.URL 1.81 lets a port overflow.
std::uint16_t read_port(const urls::url_view& parts, bool secure)
{
    if (!parts.has_port() || parts.port().empty()) return default_port(secure);
    auto digits = parts.port();
    unsigned number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error != std::errc() || number > 65535 ? 0 : static_cast<std::uint16_t>(number);
}

std::invalid_argument bad_address(std::string_view url, const std::string& why)
{
    return std::invalid_argument("the address " + std::string(url) + " " + why);
}

}  // namespace

std::string server_address::authority() const
{
    bool v6 = host.find(':') != std::string::npos;
    auto name = v6 ? "[" + host + "]" : host;
    return port == default_port(secure) ? name : name + ":" + std::to_string(port);
}

std::string server_address::url() const { return (secure ? "https://" : "http://") + authority() + path; }

server_address parse_address(std::string_view url)
{
    auto parts = urls::parse_uri(url);
    if (!parts || (parts->scheme_id() != urls::scheme::http && parts->scheme_id() != urls::scheme::https))
        throw bad_address(url, "must have the form http://host:port or https://host:port, with a path if need be");
    if (parts->encoded_host_address().empty()) throw bad_address(url, "names no host");
    if (parts->has_userinfo()) throw bad_address(url, "must not have a user: give a token with --token");
    server_address address;
    address.secure = parts->scheme_id() == urls::scheme::https;
    address.host = lower_case(parts->host_address());
    address.port = read_port(*parts, address.secure);
    if (address.port == 0) throw bad_address(url, "has no valid port");
    address.path = std::string(parts->encoded_target());
    return address;
}

std::string resolve_endpoint(const server_address& stream, std::string_view reference)
{
    const auto base_text = stream.url();
    auto base = urls::parse_uri(base_text).value();
    auto relative = urls::parse_uri_reference(reference);
    urls::url resolved;
    if (!relative || !urls::resolve(base, *relative, resolved))
        throw bad_address(reference, "of the endpoint event is none");
    auto target = parse_address(std::string_view(resolved.data(), resolved.size()));
    if (target.authority() != stream.authority() || target.secure != stream.secure)
        throw bad_address(reference, "of the endpoint event is of another origin than " + stream.url());
    return target.path.starts_with('/') ? target.path : "/" + target.path;
}

}  // namespace cmcp::load
