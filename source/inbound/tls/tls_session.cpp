#include "tls/tls_session.hpp"

#include "tls/tls_problem.hpp"

#include <boost/asio/error.hpp>

#include <new>

#include <openssl/err.h>

namespace cmcp {

namespace error = boost::asio::error;

tls_session::tls_session(std::shared_ptr<const tls_context> by, int socket)
    : by_(std::move(by)), ssl_(::SSL_new(by_->handle.get()))
{
    if (!ssl_ || ::SSL_set_fd(ssl_.get(), socket) != 1) throw std::bad_alloc();
    ::SSL_set_accept_state(ssl_.get());
}

tls_session::error_code tls_session::error_of(int result)
{
    switch (::SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            wants_ = side::input;
            return error::would_block;
        case SSL_ERROR_WANT_WRITE:
            wants_ = side::output;
            return error::would_block;
        case SSL_ERROR_ZERO_RETURN:
            return error::eof;
        default:
            broken_ = true;  // after these no operation is allowed, SSL_shutdown() neither
            problem_ = tls_problem();
            return error::connection_reset;
    }
}

tls_session::error_code tls_session::shake_hands()
{
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    return result == 1 ? error_code() : error_of(result);
}

std::size_t tls_session::read(char* into, std::size_t most, error_code& failure)
{
    std::size_t size = 0;
    failure = error::connection_reset;
    if (broken_) return 0;
    ::ERR_clear_error();
    const int result = ::SSL_read_ex(ssl_.get(), into, most, &size);
    failure = result == 1 ? error_code() : error_of(result);
    return size;
}

std::size_t tls_session::write(const char* bytes, std::size_t size, error_code& failure)
{
    std::size_t taken = 0;
    failure = error::connection_reset;
    if (broken_) return 0;
    ::ERR_clear_error();
    const int result = ::SSL_write_ex(ssl_.get(), bytes, size, &taken);
    failure = result == 1 ? error_code() : error_of(result);
    return taken;
}

void tls_session::end()
{
    if (broken_ || SSL_in_init(ssl_.get()) != 0) return;
    ::ERR_clear_error();
    if (::SSL_shutdown(ssl_.get()) < 0) ::ERR_clear_error();
}

bool tls_session::is_admissible() const
{
    return (::SSL_get_verify_mode(ssl_.get()) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) == 0 || client();
}

bool tls_session::holds_input() const { return ::SSL_has_pending(ssl_.get()) == 1; }

}  // namespace cmcp
