#pragma once

#include "async/blocking_pool.hpp"
#include "http/client_socket.hpp"
#include "log/bounded_log.hpp"
#include "tls/server_certificate.hpp"

#include <chrono>
#include <memory>

namespace cmcp {

struct http_settings;

/// Where connections become TLS. The steps of a handshake are on threads of their own, because a signature takes longer
/// than the answer to a small request; client addresses share the threads fairly.
class tls_entrance {
public:
    explicit tls_entrance(const http_settings& config);

    /// The handshake on a connection whose deadline is set, and on which its first bytes have been read over: the peer
    /// is in TLS afterwards. False: it failed. `patience`: after it no step is begun any more.
    awaitable<bool> admit(std::shared_ptr<client_socket> peer, std::chrono::milliseconds patience);

    server_certificate& certificate() { return certificate_; }
    void settle() { refused_.settle(); }  ///< to be called from time to time

private:
    using clock = std::chrono::steady_clock;

    awaitable<bool> shake_hands(std::shared_ptr<client_socket> peer, tls_session& session, clock::time_point until);
    awaitable<boost::system::error_code> step(std::string address, tls_session& session, clock::time_point until);
    void note_refusal(const std::string& peer, const std::string& problem);  ///< no problem: it took too long

    server_certificate certificate_;
    log::bounded_log refused_{"tls_refused_more"};
    blocking_pool threads_;  // goes first: its work uses the sessions of connections
};

}  // namespace cmcp
