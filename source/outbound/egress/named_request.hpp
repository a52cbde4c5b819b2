#pragma once

#include "egress/web_url.hpp"

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

namespace cmcp {

/// The URL of a request that came in on a connection for `who` and `port`. Throws bad_url with a sentence: it is for
/// another host, or could be read so by its server.
web_url named_request_url(const boost::beast::http::request_header<>& request, const host& who, std::uint16_t port);

}  // namespace cmcp
