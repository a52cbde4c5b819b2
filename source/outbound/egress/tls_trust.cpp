#include "egress/tls_trust.hpp"

#include "async/blocking_pool.hpp"
#include "config/config_error.hpp"

#include <boost/asio/ssl/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <map>
#include <mutex>
#include <utility>

namespace cmcp {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

/// The contexts that somebody keeps, by their files.
class cached_contexts {
public:
    std::shared_ptr<ssl::context> find(const std::filesystem::path& extra)
    {
        const std::scoped_lock alone(mutex_);
        return contexts_[extra].lock();
    }

    // Where two have read the same file at once, both get the first one's.
    std::shared_ptr<ssl::context> keep(const std::filesystem::path& extra, std::shared_ptr<ssl::context> fresh)
    {
        const std::scoped_lock alone(mutex_);
        auto& slot = contexts_[extra];
        if (auto cached = slot.lock()) return cached;
        slot = fresh;
        return fresh;
    }

private:
    std::mutex mutex_;
    std::map<std::filesystem::path, std::weak_ptr<ssl::context>> contexts_;
};

cached_contexts& contexts()
{
    static cached_contexts all;
    return all;
}

}  // namespace

ssl::context make_client_context(const std::filesystem::path& extra, std::string_view setting)
{
    ssl::context context(ssl::context::tls_client);
    error_code failure;
    context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                        ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::no_compression);
    context.set_default_verify_paths(failure);  // a system without certificates trusts none
    context.set_verify_mode(ssl::verify_peer);
    if (extra.empty()) return context;
    context.load_verify_file(extra.string(), failure);
    if (failure)
        throw config_error(std::string(setting) + ": \"" + extra.string() +
                           "\" cannot be read as certificates in PEM form (" + failure.message() + ")");
    return context;
}

std::shared_ptr<ssl::context> shared_client_context(const std::filesystem::path& extra, std::string_view setting)
{
    if (auto cached = contexts().find(extra)) return cached;
    return contexts().keep(extra, std::make_shared<ssl::context>(make_client_context(extra, setting)));
}

awaitable<std::shared_ptr<ssl::context>> find_client_context(std::filesystem::path extra, std::string setting)
{
    if (auto cached = contexts().find(extra)) co_return cached;
    blocking_pool reader(1);
    auto read = [extra = std::move(extra), setting = std::move(setting)] {
        return shared_client_context(extra, setting);
    };
    auto context = co_await reader.run(blocking_pool::server, std::move(read));
    co_return context;
}

void expect_host(SSL* connection, const std::string& host, bool is_address)
{
    X509_VERIFY_PARAM* const expected = ::SSL_get0_param(connection);
    if (is_address) {
        ::X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str());
        return;
    }
    ::X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    ::X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    SSL_set_tlsext_host_name(connection, host.c_str());
}

awaitable<error_code> secure(byte_stream& stream, ssl::context& trust, std::string host, bool is_address)
{
    expect_host(stream.begin_tls(trust), host, is_address);
    return stream.handshake(ssl::stream_base::client);
}

std::string handshake_problem(SSL* connection, const error_code& failure)
{
    const long verified = ::SSL_get_verify_result(connection);
    switch (verified) {
        case X509_V_OK:
            break;
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return "its certificate has expired";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return "its certificate is not valid yet";
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "its certificate is for another host";
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return "its certificate is self-signed and not trusted";
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return "its certificate was issued by nobody this machine trusts (WEB_CA_FILE adds authorities)";
        default:
            return std::string("its certificate is not accepted: ") + ::X509_verify_cert_error_string(verified);
    }
    const bool no_tls = failure.category() == boost::asio::error::get_ssl_category() &&
                        (ERR_GET_REASON(static_cast<unsigned long>(failure.value())) == SSL_R_WRONG_VERSION_NUMBER ||
                         ERR_GET_REASON(static_cast<unsigned long>(failure.value())) == SSL_R_PACKET_LENGTH_TOO_LONG);
    if (no_tls) return "it speaks no TLS on this port";
    return failure.message();
}

}  // namespace cmcp
