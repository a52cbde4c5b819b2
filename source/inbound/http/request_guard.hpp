#pragma once

#include "http/authenticator.hpp"
#include "http/http_reply.hpp"
#include "http/http_request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct http_settings;

/// Whether a browser says that a page of another site, or of another port or name of this site, causes the request, and
/// not a person who follows a link.
bool from_another_page(const http_request& request);

/// Decides before anything runs whether a request is let in: framing fields that smuggle, Host and Origin (DNS
/// rebinding, cross-site requests), CORS preflights, logins, media types. Looks at the header and at the
/// request's target in the route table.
class request_guard {
public:
    /// Both must outlive this.
    request_guard(const http_settings& config, const authenticator& logins);

    /// The answer that ends the request, or nothing when the request may go on; fills `who` and `principal` then. The
    /// router has placed the request. Where `login_pending` is set: await logins().settle(), and check again.
    std::optional<http_reply> check(http_request& request) const;

    /// Appends the CORS lines of an answer when the request came from an allowed origin.
    void share_with_origin(const http_request& request, std::string& lines) const;

    const authenticator& logins() const { return logins_; }

    bool host_allowed(std::string_view host) const;

    /// Listed, or of the server's own pages: the origin of the Host that the request names, with its port.
    bool origin_allowed(std::string_view origin, std::string_view host) const;

private:
    bool is_own_host(std::string_view host) const;
    std::optional<http_reply> check_framing(const http_request& request) const;
    std::optional<http_reply> check_source(const http_request& request) const;
    std::optional<http_reply> check_media(const http_request& request) const;
    http_reply preflight(const http_request& request) const;

    const http_settings& config_;
    const authenticator& logins_;
    std::string public_origin_;  ///< of MCP_PUBLIC_URL; empty: none
};

}  // namespace cmcp
