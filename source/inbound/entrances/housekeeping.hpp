#pragma once

#include "http/connection.hpp"
#include "http/tls_entrance.hpp"
#include "identity/gatekeeper.hpp"
#include "tls/certificate_ends.hpp"
#include "transport/session_store.hpp"

#include <chrono>

namespace cmcp {

// The work of a server beside its connections. Each goes on until it is cancelled, and all that it takes must outlive
// it.

/// Drops sessions that nobody uses, and says in the log what was left out of it.
awaitable<> sweep(session_store& sessions, connection_context& connections, std::chrono::milliseconds every);

/// Ends the answers of logins that have ended.
awaitable<> watch_logins(gatekeeper& logins, login_holds& answers);

/// Takes the certificate anew once its files have changed.
awaitable<> watch_certificate(server_certificate& own);

/// Warns of certificates that end soon.
awaitable<> watch_ends(certificate_ends& all);

}  // namespace cmcp
