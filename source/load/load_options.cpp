#include "load/load_options.hpp"

#include <charconv>
#include <stdexcept>

namespace cmcp::load {

std::string server_address::authority() const
{
    bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

server_address parse_address(std::string_view url)
{
    constexpr std::string_view scheme = "http://";
    auto bad = [&](const char* why) { return std::invalid_argument("the address " + std::string(url) + " " + why); };
    if (!url.starts_with(scheme)) throw bad("must begin with http:// (put a TLS proxy in front for https)");
    auto rest = url.substr(scheme.size());
    auto slash = rest.find('/');
    auto place = rest.substr(0, slash);
    server_address parsed;
    parsed.path = slash == std::string_view::npos ? "" : std::string(rest.substr(slash));
    auto end_of_host = place.starts_with('[') ? place.find(']') : place.find(':');
    if (place.starts_with('[')) {
        if (end_of_host == std::string_view::npos) throw bad("has a [ without a ]");
        parsed.host = place.substr(1, end_of_host - 1);
        place.remove_prefix(end_of_host + 1);
    } else {
        parsed.host = place.substr(0, end_of_host);
        place = end_of_host == std::string_view::npos ? std::string_view() : place.substr(end_of_host);
    }
    if (parsed.host.empty()) throw bad("names no host");
    if (place.empty()) return parsed;
    auto digits = place.substr(1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
    if (error != std::errc() || end != digits.data() + digits.size() || parsed.port == 0) throw bad("has no valid port");
    return parsed;
}

}  // namespace cmcp::load
