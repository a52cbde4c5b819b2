#pragma once

#include "identity/document_fetch.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// An answer of an authorization server, of bounded depth and number of values; empty where it is no object. Throws
/// std::runtime_error.
json::object read_issuer_document(std::string_view text);

/// The document in which an authorization server describes itself (RFC 8414, OpenID Connect Discovery). Throws
/// std::runtime_error.
awaitable<json::object> issuer_metadata(document_fetch fetch, std::string issuer);

}  // namespace cmcp
