#include "config/etcd_endpoint.hpp"

#include <boost/url/parse.hpp>

namespace cmcp {

std::optional<etcd_endpoint> etcd_endpoint::read(std::string_view text)
{
    const auto url = boost::urls::parse_uri(text);
    if (!url || url->has_query() || url->has_fragment() || url->has_userinfo()) return std::nullopt;
    etcd_endpoint to;
    to.secure = url->scheme() == "https";
    to.host = url->host_address();
    if (url->has_port()) to.port = url->port_number();
    const std::string path = url->path();
    const bool fits = (to.secure || url->scheme() == "http") && !to.host.empty() && to.port != 0;
    if (!fits || !(path.empty() || path == "/")) return std::nullopt;
    return to;
}

}  // namespace cmcp
