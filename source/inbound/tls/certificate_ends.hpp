#pragma once

#include "jsonrpc/json.hpp"

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <openssl/x509.h>

namespace cmcp {

struct settings;

std::time_t end_of(const X509& certificate);

/// The first end of the certificates in a PEM file. Nothing: it has none that can be read.
std::optional<std::time_t> end_of_certificates(const std::filesystem::path& file);

/// When the certificates that the settings name end: that of clients (TLS_CERT), of members (CLUSTER_CERT), and of
/// their authority (CLUSTER_CA). From 30 days before an end on the log warns once a day; the figure
/// cmcp_certificate_expiry_seconds has the seconds that are left.
class certificate_ends {
public:
    static constexpr int days_of_warning = 30;

    explicit certificate_ends(const settings& config);

    void look(std::time_t now);  ///< to be called from time to time: reads the files
    json::array described(
        std::time_t now) const;  ///< [{"certificate", "file", "ends", "days_left"}], as of the last look

private:
    struct certificate {
        std::string name;  // in figures
        std::filesystem::path file;
        std::time_t ends = 0;  // 0: not known
        std::time_t warned = 0;
    };

    std::vector<certificate> all_;
};

}  // namespace cmcp
