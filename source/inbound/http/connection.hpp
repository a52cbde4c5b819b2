#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "async/deadline_wheel.hpp"
#include "async/memory_budget.hpp"
#include "http/login_holds.hpp"
#include "http/member_gateway.hpp"
#include "http/request_guard.hpp"
#include "http/request_reader.hpp"
#include "http/request_record.hpp"
#include "http/router.hpp"
#include "http/seen_logins.hpp"
#include "http/tls_entrance.hpp"
#include "http/trusted_proxies.hpp"
#include "log/bounded_log.hpp"
#include "streams/stream_socket.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

class quotas;
struct http_settings;

/// The state that the connections of one server share.
struct connection_context {
    connection_context(const http_settings& by, const request_guard& guards, const router& routing,
                       std::shared_ptr<deadline_wheel> wheel, std::shared_ptr<memory_budget> memory);

    /// A line of the log and a record with the answer's sentence, unless there are many.
    void note_refused_login(const http_request& request, std::string_view sentence);
    void close_idle();   ///< ends the connections of which no request has begun to arrive
    void settle_logs();  ///< to be called from time to time

    const http_settings& config;
    const request_guard& guard;
    const router& routes;
    const trusted_proxies proxies;
    tls_entrance* tls = nullptr;        ///< null: plain HTTP
    member_gateway* members = nullptr;  ///< null: this server is alone
    bool of_members = false;            ///< a client with a certificate is another server of the cluster
    quotas* limits = nullptr;           ///< count requests as calls; null: no route here has such
    std::shared_ptr<deadline_wheel> deadlines;
    std::shared_ptr<memory_budget> budget;  ///< bodies count against it
    std::weak_ptr<blocking_pool> pool;      ///< reads long bodies; empty: nobody does, they are left to the routes
    bool stopping = false;
    log::bounded_log refused_logins{"login_refused_more"};
    seen_logins seen;
    log::bounded_log refused_openings{"proxy_header_refused_more"};
    std::set<client_socket*> openings;  ///< of connections that are not open for requests yet
    std::set<request_reader*> readers;  ///< of connections that read a request or wait for one
    login_holds logins;                 ///< of requests that are answered
};

/// Serves the requests of one connection, one after another, until either side ends the connection.
awaitable<> serve_connection(stream_socket socket, std::shared_ptr<connection_context> context);

}  // namespace cmcp
