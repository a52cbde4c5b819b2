#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace cmcp::test {

/// The first bytes of a client of TLS as OpenSSL writes them; without a server name where `name` is empty.
inline std::string client_hello(const std::string& name)
{
    const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(::SSL_CTX_new(::TLS_client_method()),
                                                                      ::SSL_CTX_free);
    const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl(::SSL_new(context.get()), ::SSL_free);
    BIO* out = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(ssl.get(), ::BIO_new(::BIO_s_mem()), out);
    if (!name.empty()) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
    ::SSL_connect(ssl.get());
    std::string bytes(::BIO_ctrl_pending(out), '\0');
    ::BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
}

}  // namespace cmcp::test
