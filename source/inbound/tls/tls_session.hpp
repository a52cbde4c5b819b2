#pragma once

#include "tls/client_certificate.hpp"
#include "tls/openssl_handles.hpp"
#include "tls/server_certificate.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// The server's side of TLS over a connected, non-blocking socket of the caller, which outlives this. Nothing waits: an
/// operation that cannot go on gives would_block, and wants() tells which side of the socket it waits for. Any thread
/// may use it, one at a time. SIGPIPE is ignored in the process.
class tls_session {
public:
    enum class side { input, output };
    using error_code = boost::system::error_code;

    tls_session(std::shared_ptr<const tls_context> by, int socket);

    /// A step of the handshake with the bytes that are there; no error: it is finished. Signs and verifies, which takes
    /// long.
    error_code shake_hands();
    const std::string& problem() const { return problem_; }  ///< why it failed, as part of a sentence

    std::size_t read(char* into, std::size_t most, error_code& failure);  ///< eof: the client sends no more
    /// Takes a part of the bytes. After would_block the next call gets the same bytes again, or more behind them.
    std::size_t write(const char* bytes, std::size_t size, error_code& failure);
    void end();  ///< tells the client that nothing more comes, as far as the socket takes it at once

    side wants() const { return wants_; }
    bool holds_input() const;  ///< of which the socket does not tell any more
    bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
    /// Whether a client that needs a certificate has one that is valid now; the one of a resumed session may have
    /// ended.
    bool is_admissible() const;
    std::optional<client_certificate> client() const { return client_certificate_of(ssl_.get()); }

private:
    error_code error_of(int result);

    std::shared_ptr<const tls_context> by_;
    ssl_handle ssl_;
    std::string problem_;
    side wants_ = side::input;
    bool broken_ = false;
};

}  // namespace cmcp
