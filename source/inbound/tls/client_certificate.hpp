#pragma once

#include <optional>
#include <string>

#include <openssl/types.h>

namespace cmcp {

/// The client as its verified certificate describes it.
struct client_certificate {
    std::string name;        ///< its first URI, else DNS name, else mail address, else common name; empty: none is fit
    std::string thumbprint;  ///< SHA-256 of the DER form, base64url without padding (RFC 8705)
};

/// Of the client at the other end of a finished handshake; nothing: it has sent none, or a verification has failed.
std::optional<client_certificate> client_certificate_of(const SSL* connection);

client_certificate read_client_certificate(X509* certificate);

}  // namespace cmcp
