#pragma once

#include "egress/egress_ticket.hpp"
#include "egress/web_url.hpp"
#include "web/http_stream.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <filesystem>
#include <list>
#include <memory>
#include <string>

namespace cmcp {

/// Connections that wait for another request, and the certificates that TLS trusts.
class connection_pool : public std::enable_shared_from_this<connection_pool> {
public:
    connection_pool(asio::any_io_executor executor, std::filesystem::path extra_ca);

    /// A connection that is open and quiet, or null.
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
