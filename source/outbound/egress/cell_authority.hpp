#pragma once

#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>

struct evp_pkey_st;
struct x509_st;

namespace cmcp {

/// The certificate authority of one cell. Its key is in the memory of this process alone, and nobody outside of the
/// cell trusts it. Throws std::runtime_error where the library refuses.
class cell_authority {
public:
    explicit cell_authority(const std::string& cell);

    const std::string& certificate_pem() const { return pem_; }

    /// A server's side of TLS for the name: HTTP/1.1 alone, a certificate that lasts a day. Cached for a while.
    std::shared_ptr<boost::asio::ssl::context> context_for(const std::string& name);

private:
    using clock = std::chrono::steady_clock;
    struct free_openssl {
        void operator()(evp_pkey_st* key) const;
        void operator()(x509_st* certificate) const;
    };
    using key_handle = std::unique_ptr<evp_pkey_st, free_openssl>;
    using certificate_handle = std::unique_ptr<x509_st, free_openssl>;
    struct leaf {
        std::shared_ptr<boost::asio::ssl::context> context;
        clock::time_point since;
    };

    static key_handle make_key();
    static std::string pem_of(x509_st& certificate);
    certificate_handle certify(const std::string& name, evp_pkey_st& key) const;
    std::shared_ptr<boost::asio::ssl::context> make_context(const std::string& name) const;

    key_handle key_;
    certificate_handle certificate_;
    std::string pem_;
    std::map<std::string, leaf> leaves_;
};

}  // namespace cmcp
