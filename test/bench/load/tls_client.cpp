#include "load/tls_client.hpp"

#include "load/cannot_begin.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>

#include <new>

#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace cmcp::load {

namespace {

void expect_name(SSL* connection, const std::string& host)
{
    X509_VERIFY_PARAM* const expected = ::SSL_get0_param(connection);
    boost::system::error_code no_address;
    boost::asio::ip::make_address(host, no_address);
    if (!no_address) {
        ::X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str());
        return;
    }
    ::X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ::X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    SSL_set_tlsext_host_name(connection, host.c_str());
}

}  // namespace

tls_context::tls_context(bool verify) : context_(::SSL_CTX_new(::TLS_client_method()))
{
    if (!context_) throw cannot_begin("TLS cannot be used: OpenSSL makes no context.");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    // A waiting connection holds no buffers, and a repeated write may pass its bytes at another address.
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ::SSL_CTX_set_default_verify_paths(context_.get());
    ::SSL_CTX_set_verify(context_.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
}

tls_client::tls_client(const tls_context& shared, int socket, const std::string& host) : ssl_(::SSL_new(shared.get()))
{
    if (ssl_ == nullptr) throw std::bad_alloc();
    ::SSL_set_fd(ssl_, socket);
    expect_name(ssl_, host);
    ::SSL_set_connect_state(ssl_);
}

tls_client::~tls_client()
{
    ::ERR_clear_error();
    if (SSL_is_init_finished(ssl_)) ::SSL_shutdown(ssl_);
    ::SSL_free(ssl_);
}

tls_client::step tls_client::shake_hands()
{
    ::ERR_clear_error();
    auto result = ::SSL_do_handshake(ssl_);
    if (result == 1) return step::done;
    switch (::SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ:
            return step::wants_read;
        case SSL_ERROR_WANT_WRITE:
            return step::wants_write;
        default:
            first_error_ = ::ERR_get_error();
            return step::failed;
    }
}

std::string tls_client::problem() const
{
    auto verified = ::SSL_get_verify_result(ssl_);
    if (verified != X509_V_OK && ::SSL_get_verify_mode(ssl_) != SSL_VERIFY_NONE)
        return std::string("the certificate is not accepted (") + ::X509_verify_cert_error_string(verified) +
               "): trust its authority with SSL_CERT_FILE=FILE, or accept any with --insecure";
    auto reason = ERR_GET_REASON(first_error_);
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG)
        return "the server speaks no TLS on this port";
    const auto* words = ::ERR_reason_error_string(first_error_);
    return words == nullptr ? "the server ended the connection" : words;
}

boost::system::error_code tls_client::error_of(int result) const
{
    switch (::SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return boost::asio::error::would_block;
        case SSL_ERROR_ZERO_RETURN:
            return boost::asio::error::eof;
        default:
            return boost::asio::error::connection_reset;
    }
}

std::size_t tls_client::read(char* into, std::size_t most, boost::system::error_code& error)
{
    ::ERR_clear_error();
    std::size_t size = 0;
    auto result = ::SSL_read_ex(ssl_, into, most, &size);
    error = result == 1 ? boost::system::error_code() : error_of(result);
    return size;
}

std::size_t tls_client::write(std::string_view bytes, boost::system::error_code& error)
{
    ::ERR_clear_error();
    std::size_t size = 0;
    auto result = ::SSL_write_ex(ssl_, bytes.data(), bytes.size(), &size);
    error = result == 1 ? boost::system::error_code() : error_of(result);
    return size;
}

}  // namespace cmcp::load
