#include "config/store_address.hpp"

#include <boost/url/parse.hpp>

#include <algorithm>
#include <cctype>

namespace cmcp {

namespace {

// Of what needs no escape in a path, so that the address has one form only.
bool is_plain_name(std::string_view name)
{
    constexpr std::size_t longest = 255;
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= longest && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(), fits);
}

bool read_path(store_address& into, std::string_view path)
{
    while (!path.empty()) {
        path.remove_prefix(1);
        const auto name = path.substr(0, path.find('/'));
        path.remove_prefix(name.size());
        if (name.empty() && path.empty() && !into.bucket.empty()) return true;  // a slash ends the address
        if (!is_plain_name(name)) return false;
        if (into.bucket.empty())
            into.bucket = name;
        else
            into.prefix += std::string(name) + "/";
    }
    return !into.bucket.empty();
}

}  // namespace

std::optional<store_address> store_address::read(std::string_view text)
{
    const auto url = boost::urls::parse_uri(text);
    if (!url || url->has_query() || url->has_fragment() || url->has_userinfo()) return std::nullopt;
    store_address to;
    to.secure = url->scheme() == "https";
    to.host = url->encoded_host();
    if (url->has_port()) to.port = url->port_number();
    const bool fits = (to.secure || url->scheme() == "http") && !to.host.empty() &&
                      (!url->has_port() || to.port != 0) && read_path(to, url->encoded_path());
    if (!fits) return std::nullopt;
    return to;
}

}  // namespace cmcp
