#pragma once

#include <memory>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace cmcp {

template <auto Free>
struct openssl_free {
    template <class T>
    void operator()(T* object) const
    {
        Free(object);
    }
};

using ssl_handle = std::unique_ptr<SSL, openssl_free<&::SSL_free>>;
using ssl_context_handle = std::unique_ptr<SSL_CTX, openssl_free<&::SSL_CTX_free>>;
using x509_handle = std::unique_ptr<X509, openssl_free<&::X509_free>>;
using general_names_handle = std::unique_ptr<GENERAL_NAMES, openssl_free<&::GENERAL_NAMES_free>>;

}  // namespace cmcp
