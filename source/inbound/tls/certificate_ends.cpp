#include "tls/certificate_ends.hpp"

#include "config/settings.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "text/time_text.hpp"
#include "tls/openssl_handles.hpp"

#include <algorithm>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace cmcp {

namespace {

constexpr std::time_t day = 24 * 3600;

metrics::family<metrics::gauge>& figures()
{
    return metrics::all().gauges("cmcp_certificate_expiry_seconds",
                                 "Until a certificate ends: of clients (https), of members (cluster), of their "
                                 "authority (cluster_ca).",
                                 {"certificate"});
}

}  // namespace

std::time_t end_of(const X509& certificate)
{
    std::tm parts{};
    return ::ASN1_TIME_to_tm(::X509_get0_notAfter(&certificate), &parts) == 1 ? ::timegm(&parts) : 0;
}

std::optional<std::time_t> end_of_certificates(const std::filesystem::path& file)
{
    const std::unique_ptr<BIO, openssl_free<&::BIO_free>> text(::BIO_new_file(file.c_str(), "r"));
    std::optional<std::time_t> first;
    while (text) {
        const x509_handle one(::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
        if (!one) break;
        first = std::min(first.value_or(end_of(*one)), end_of(*one));
    }
    ::ERR_clear_error();  // that of the file's end
    return first;
}

certificate_ends::certificate_ends(const settings& config)
{
    figures();
    const auto add = [this](std::string name, const std::filesystem::path& file) {
        if (!file.empty()) all_.push_back({std::move(name), file});
    };
    add("https", config.tls_cert);
    if (config.cluster_etcd.empty()) return;
    add("cluster", config.cluster_cert);
    add("cluster_ca", config.cluster_ca);
}

void certificate_ends::look(std::time_t now)
{
    for (auto& each : all_) {
        const auto ends = end_of_certificates(each.file);
        if (!ends) continue;
        if (*ends != each.ends) each.warned = 0;
        each.ends = *ends;
        const auto left = each.ends - now;
        figures().at({each.name}).set(static_cast<double>(left));
        if (left > days_of_warning * day || (each.warned != 0 && now - each.warned < day)) continue;
        each.warned = now;
        log::warning("certificate_ends_soon",
                     {{"certificate", each.name},
                      {"file", json::string(each.file.string())},
                      {"ends", timestamp(std::chrono::system_clock::from_time_t(each.ends))},
                      {"days_left", left / day},
                      {"advice", "put a new one into the file; it is taken without a restart"}});
    }
}

json::array certificate_ends::described(std::time_t now) const
{
    json::array rows;
    for (const auto& each : all_)
        if (each.ends != 0)
            rows.push_back({{"certificate", each.name},
                            {"file", each.file.string()},
                            {"ends", timestamp(std::chrono::system_clock::from_time_t(each.ends))},
                            {"days_left", (each.ends - now) / day}});
    return rows;
}

}  // namespace cmcp
