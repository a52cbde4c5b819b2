#pragma once

#include "http/http_reply.hpp"
#include "http/http_request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct http_settings;

/// A probe of a balancer, which may come without credentials.
bool is_probe(const http_request& request);

/// Whether a browser says that a page of another site, or of another port or name of this site, causes the request, and
/// not a person who follows a link.
bool from_another_page(const http_request& request);

/// 4xx for fields that say where the request ends in more than one way, or in one that is not served.
std::optional<http_reply> refuse_framing(const http_request& request);

/// 415 for a body that the route does not take.
std::optional<http_reply> refuse_media(const http_request& request);

/// The answer to OPTIONS.
http_reply preflight(const http_request& request);

/// The names of this server, and the pages that may call it (DNS rebinding, cross-site requests).
class served_names {
public:
    /// `config` must outlive this.
    explicit served_names(const http_settings& config);

    /// 403 for a Host that is not served, and for a page that may not call.
    std::optional<http_reply> refuse_source(const http_request& request) const;

    bool host_allowed(std::string_view host) const;

    /// Listed, or of the server's own pages: the origin of the Host that the request names, with its port.
    bool origin_allowed(std::string_view origin, std::string_view host) const;

    /// Appends the CORS lines of an answer when the request came from an allowed origin.
    void share_with_origin(const http_request& request, std::string& lines) const;

private:
    bool is_own_host(std::string_view host) const;

    const http_settings& config_;
    std::string public_origin_;  ///< of MCP_PUBLIC_URL; empty: none
};

}  // namespace cmcp
