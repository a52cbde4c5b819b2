#pragma once

#include "async/asio.hpp"
#include "cluster/member_trust.hpp"
#include "config/cluster_member.hpp"
#include "streams/http_connection.hpp"

#include <memory>
#include <stdexcept>
#include <string>

namespace cmcp {

struct cluster_settings;

/// what() is a sentence that names the member and says why it cannot be reached.
struct member_unreachable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Connections to members, over TLS in which each side proves by its certificate that it is one. Connections that
/// are good for another request wait for it. Io thread only.
class member_links {
public:
    /// `config` must outlive this. Throws config_error.
    member_links(asio::any_io_executor executor, const cluster_settings& config);

    /// An open connection on which nothing is under way. Throws member_unreachable.
    awaitable<std::unique_ptr<http_connection>> take(cluster_member to);

    /// A connection that does not come from those that wait, and is not given back. Throws member_unreachable.
    awaitable<std::unique_ptr<http_connection>> connect(cluster_member to);

    /// After a whole answer.
    void give_back(const cluster_member& to, std::unique_ptr<http_connection> connection);

private:
    awaitable<> shake_hands(byte_stream& stream, const cluster_member& to);

    member_trust trust_;
    std::shared_ptr<idle_connections> waiting_;
};

}  // namespace cmcp
