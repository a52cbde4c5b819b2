#pragma once

#include "web/http_client.hpp"

namespace cmcp {

/// Connections that wait for another request, and what TLS trusts.
class http_client::pool : public std::enable_shared_from_this<pool> {
public:
    pool(asio::any_io_executor executor, std::filesystem::path extra_ca);

    /// One that is open and quiet, or nothing.
    std::unique_ptr<http_stream> take(const egress_ticket& ticket, const web_url& to);
    void give_back(const egress_ticket& ticket, const web_url& to, std::unique_ptr<http_stream> stream);
    void clear();

    boost::asio::ssl::context& trust();

private:
    struct idle {
        const egress_policy* policy;  // only compared
        std::string origin;
        std::unique_ptr<http_stream> stream;
    };
    void close_old();

    std::filesystem::path extra_ca_;
    std::unique_ptr<boost::asio::ssl::context> trust_;
    std::list<idle> idle_;  // oldest first
    asio::steady_timer reaper_;
};

}  // namespace cmcp
