#pragma once

#include "config/settings.hpp"
#include "http/request_guard.hpp"

namespace cmcp::test {

struct login_parts {
    explicit login_parts(const settings& config, document_fetch fetch = {})
        : logins(io.get_executor(), config, std::move(fetch)), by_header(logins)
    {
    }
    asio::io_context io;
    gatekeeper logins;
    authenticator by_header;
};

/// A guard with the logins of the same settings.
class guarded : login_parts, public request_guard {
public:
    explicit guarded(const settings& config) : login_parts(config), request_guard(config, by_header) {}
    using request_guard::logins;
};

}  // namespace cmcp::test
