#pragma once

#include "tls/server_certificate.hpp"

namespace cmcp {

struct http_settings;

/// By TLS_CERT, TLS_KEY, TLS_MIN, TLS_CLIENT_CA and TLS_CLIENT_AUTH. Throws certificate_problem.
std::shared_ptr<const tls_context> make_tls_context(const http_settings& config, std::shared_ptr<ticket_keys> tickets);

}  // namespace cmcp
