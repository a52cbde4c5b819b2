#include "cluster/member_trust.hpp"

#include "config/cluster_settings.hpp"
#include "config/config_error.hpp"
#include "log/log.hpp"

#include <algorithm>

#include <openssl/ssl.h>

namespace cmcp {

namespace ssl = boost::asio::ssl;

namespace {

void check(const boost::system::error_code& failure, const char* setting, const std::filesystem::path& file)
{
    if (failure)
        throw config_error(std::string(setting) + "=" + file.string() + " cannot be used (" + failure.message() +
                           "): name a PEM file as docs/cluster.md makes it");
}

std::shared_ptr<ssl::context> make_context(const cluster_settings& config)
{
    boost::system::error_code failure;
    auto fresh = std::make_shared<ssl::context>(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(fresh->native_handle(), TLS1_3_VERSION);
    fresh->set_verify_mode(ssl::verify_peer);
    fresh->load_verify_file(config.cluster_ca.string(), failure);
    check(failure, "CLUSTER_CA", config.cluster_ca);
    fresh->use_certificate_chain_file(config.cluster_cert.string(), failure);
    check(failure, "CLUSTER_CERT", config.cluster_cert);
    fresh->use_private_key_file(config.cluster_key.string(), ssl::context::pem, failure);
    check(failure, "CLUSTER_KEY", config.cluster_key);
    return fresh;
}

bool same_time(const timespec& one, const timespec& other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

member_trust::member_trust(const cluster_settings& config)
    : config_(config), read_at_(times()), context_(make_context(config))
{
}

std::vector<timespec> member_trust::times() const
{
    std::vector<timespec> all;
    for (const auto& file : {config_.cluster_cert, config_.cluster_key, config_.cluster_ca}) {
        struct stat status {};
        all.push_back(::stat(file.c_str(), &status) == 0 ? status.st_mtim : timespec{});
    }
    return all;
}

std::shared_ptr<ssl::context> member_trust::context()
{
    auto now = times();
    if (std::equal(now.begin(), now.end(), read_at_.begin(), same_time)) return context_;
    read_at_ = std::move(now);
    try {
        context_ = make_context(config_);
    } catch (const config_error& problem) {
        log::error(
            "cluster_certificate_kept",
            {{"reason", problem.what()}, {"advice", "the former certificate stays in use until the files are good"}});
    }
    return context_;
}

}  // namespace cmcp
