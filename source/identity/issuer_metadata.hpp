#pragma once

#include "identity/document_fetch.hpp"
#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp {

/// The document in which an authorization server describes itself (RFC 8414, OpenID Connect Discovery). Throws
/// std::runtime_error.
awaitable<json::object> issuer_metadata(document_fetch fetch, std::string issuer);

}  // namespace cmcp
