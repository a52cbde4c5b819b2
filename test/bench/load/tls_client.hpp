#pragma once

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace cmcp::load {

/// The TLS context that all connections of a test share.
class tls_context {
public:
    /// `verify`: trust the system's authorities only, or those that the environment variable SSL_CERT_FILE names.
    /// Throws cannot_begin.
    explicit tls_context(bool verify);

    SSL_CTX* get() const { return context_.get(); }

private:
    struct free_context {
        void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
    };
    std::unique_ptr<SSL_CTX, free_context> context_;
};

/// TLS over a connected, non-blocking socket of the caller. Reads and writes give would_block as a socket does.
class tls_client {
public:
    /// The server's certificate must name `host`, where certificates are verified at all.
    tls_client(const tls_context& shared, int socket, const std::string& host);
    ~tls_client();
    tls_client(const tls_client&) = delete;
    tls_client& operator=(const tls_client&) = delete;

    enum class step { done, wants_read, wants_write, failed };
    step shake_hands();
    std::string problem() const;  ///< why the handshake failed, as the end of a sentence

    std::size_t read(char* into, std::size_t most, boost::system::error_code& error);
    std::size_t write(std::string_view bytes, boost::system::error_code& error);

private:
    boost::system::error_code error_of(int result) const;

    SSL* ssl_;
    unsigned long first_error_ = 0;
};

}  // namespace cmcp::load
