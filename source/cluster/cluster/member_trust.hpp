#pragma once

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <vector>

#include <sys/stat.h>

namespace cmcp {

struct cluster_settings;

/// The side of TLS that connects to members: shows CLUSTER_CERT, and believes certificates of CLUSTER_CA alone.
class member_trust {
public:
    /// `config` must outlive this. Throws config_error when a file cannot be used.
    explicit member_trust(const cluster_settings& config);

    /// Of the files as they are now; where those cannot be used, of the former ones, and the log tells why. A stream
    /// keeps what it was made with.
    std::shared_ptr<boost::asio::ssl::context> context();

private:
    std::vector<timespec> times() const;

    const cluster_settings& config_;
    std::vector<timespec> read_at_;
    std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace cmcp
