#pragma once

#include "config/settings.hpp"
#include "http/request_guard.hpp"

namespace cmcp::test {

struct login_parts {
    explicit login_parts(const settings& config) : logins(io.get_executor(), config, {}) {}
    asio::io_context io;
    gatekeeper logins;
};

/// A guard with the logins of the same settings.
class guarded : login_parts, public request_guard {
public:
    explicit guarded(const settings& config) : login_parts(config), request_guard(config, logins) {}
};

}  // namespace cmcp::test
