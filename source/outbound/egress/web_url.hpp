#pragma once

#include "egress/host.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp {

/// A URL that cannot be fetched; what() is a sentence for the caller.
struct bad_url : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An absolute http or https URL, in canonical form: host as by read_host, path and query percent-encoded.
struct web_url {
    bool secure = false;  ///< https
    host who;
    std::uint16_t port = 0;
    std::string target = "/";  ///< path and query as in a request line (RFC 9112 origin-form)
    std::string fragment;      ///< with its "#"; may be empty

    std::string authority() const;  ///< host, and the port where it is not the scheme's own
    std::string origin() const;     ///< scheme://authority
    std::string text() const;

    /// Spaces around are left out, other characters that a URL cannot hold are percent-encoded, as browsers do.
    /// Throws bad_url: no URL, another scheme, credentials, a bad host or port.
    static web_url parse(std::string_view text);

    /// The target of `reference` (a Location, an href) on this page (RFC 3986 section 5). Throws bad_url.
    web_url follow(std::string_view reference) const;
};

}  // namespace cmcp
