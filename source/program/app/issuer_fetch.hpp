#pragma once

#include "async/asio.hpp"
#include "identity/document_fetch.hpp"

namespace cmcp {

struct settings;

/// Fetches documents of authorization servers through the judgement of everything that leaves the server: public
/// addresses, and those that AUTH_ISSUERS and AUTH_INTROSPECTION_URL name. Throws config_error.
document_fetch make_issuer_fetch(asio::any_io_executor executor, const settings& config);

}  // namespace cmcp
