#pragma once

#include "http/exchange.hpp"
#include "preview/port_links.hpp"
#include "preview/preview_request.hpp"
#include "sandbox/backend.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "streams/byte_stream.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class router;
struct sandbox_settings;

/// Shows ports of sandboxes to whoever has a link, and tells which of them listen. Everything given to the constructor
/// must outlive it. Io thread only.
class previews {
public:
    previews(asio::any_io_executor executor, const sandbox_settings& config, sandbox::backend& cells,
             sandbox_manager& sandboxes, blocking_pool& pool);

    port_links& links() { return links_; }

    /// The link at the address of the server that the caller uses; empty where the server has none.
    std::string url_of(const port_link& link, const caller& who) const;

    /// The ports of the sandbox on which a program listens; none where nothing runs.
    awaitable<std::vector<std::uint16_t>> listening(sandbox_record where);

    /// A connection to the port; nothing, with a sentence in `problem`: there is none.
    awaitable<std::optional<stream_socket>> connect(port_link link, std::string& problem);

    awaitable<> sandbox_stopped(std::string id);  ///< the links of one that is deleted end

    /// Connects to a port of a sandbox of the caller, without a link. Throws std::runtime_error with a sentence.
    awaitable<stream_socket> enter(sandbox_record where, std::uint16_t port);

    struct inner_page {
        sandbox_record where;
        std::string url;  ///< http://localhost:<port>/…
    };
    /// The page that one of the caller's own links leads to; nothing: the URL is no such link.
    std::optional<inner_page> behind(const caller& who, const std::string& url);

    /// Whether all requests of this Host are for shown ports.
    bool has_origin(std::string_view host) const;

    /// The sandbox that such a request is for, as its address names it; empty: it names none.
    std::string handle_of(const http_request& request) const;

    /// A request of such a Host, or below /preview/.
    awaitable<> serve(exchange& x);

private:
    awaitable<std::optional<stream_socket>> connect_now(port_link link, std::string& problem);
    std::optional<port_link> link_for(const preview_request& wanted) const;
    awaitable<> serve_link(exchange& x, preview_request wanted, port_link link);
    awaitable<bool> pass(exchange& x, preview_request wanted, port_link link);

    asio::any_io_executor executor_;
    const sandbox_settings& config_;
    sandbox::backend& cells_;
    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    port_links links_;
};

/// /preview/<token>/… and every path of the Hosts beneath MCP_PREVIEW_DOMAIN, with any method: ports of sandboxes.
/// `shown` must outlive the routes.
void add_preview_routes(router& routes, previews& shown);

}  // namespace cmcp
