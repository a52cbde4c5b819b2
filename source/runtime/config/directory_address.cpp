#include "config/directory_address.hpp"

#include "text/ascii.hpp"

#include <boost/url/parse.hpp>

namespace cmcp {

std::optional<directory_address> directory_address::read(std::string_view text)
{
    const auto url = boost::urls::parse_uri(text);
    if (!url || url->has_query() || url->has_fragment()) return std::nullopt;
    directory_address to;
    to.secure = url->scheme() == "rediss";
    to.user = url->user();
    to.password = url->password();
    to.host = url->host_address();
    if (url->has_port()) to.port = url->port_number();
    std::string path = url->path();
    if (path.starts_with('/')) path.erase(0, 1);
    const bool fits = (to.secure || url->scheme() == "redis") && !to.host.empty() && to.port != 0 &&
                      (path.empty() || (all_digits(path) && path.size() <= 5));
    if (!fits) return std::nullopt;
    to.database = std::move(path);
    return to;
}

}  // namespace cmcp
