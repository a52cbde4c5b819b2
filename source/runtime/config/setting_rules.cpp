#include "config/setting_rules.hpp"

#include "config/cluster_member.hpp"
#include "config/config_error.hpp"
#include "config/setting.hpp"
#include "config/setting_kinds.hpp"
#include "config/settings.hpp"

#include <algorithm>
#include <string>

namespace cmcp {

namespace {

void check_tls(const settings& config)
{
    const bool asks_clients = config.tls_client_auth != "off";
    if (config.tls_cert.empty() != config.tls_key.empty())
        throw config_error("TLS_CERT and TLS_KEY belong together: set both to serve HTTPS, or none");
    if (asks_clients && config.tls_cert.empty())
        throw config_error("TLS_CLIENT_AUTH=" + config.tls_client_auth + " needs TLS: set TLS_CERT and TLS_KEY");
    if (asks_clients && config.tls_client_ca.empty())
        throw config_error("TLS_CLIENT_AUTH=" + config.tls_client_auth +
                           " needs TLS_CLIENT_CA: set it to the authorities that sign certificates of clients");
    if (!asks_clients && !config.tls_client_ca.empty())
        throw config_error("TLS_CLIENT_CA does nothing without TLS_CLIENT_AUTH: set that to accept or require");
}

bool is_everywhere(const std::string& address)
{
    return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

void check_cluster(const settings& config)
{
    if (config.cluster_etcd.empty()) return;
    const auto need = [&config](bool is_there, const std::string& what) {
        if (!is_there) throw config_error("CLUSTER_ETCD=" + kinds::printed(config.cluster_etcd) + " needs " + what);
    };
    need(is_member_name(config.sandbox_node),
         "SANDBOX_NODE: a name of at most 24 of a-z, 0-9 and '-' that no other server has");
    need(!config.cluster_listen.empty(), "CLUSTER_LISTEN: set it to host:port for the other servers");
    need(!config.cluster_advertise.empty() || !is_everywhere(config.cluster_listen),
         "CLUSTER_ADVERTISE: set it to the host:port where the other servers reach this one");
    need(!config.cluster_cert.empty() && !config.cluster_key.empty() && !config.cluster_ca.empty(),
         "CLUSTER_CERT, CLUSTER_KEY and CLUSTER_CA, because servers know each other by certificates alone");
    need(!config.link_key.empty(),
         "SANDBOX_LINK_KEY: set it to the same random text on all servers, because each of them checks what another "
         "has signed");
    need(config.cluster_etcd_user.empty() == config.cluster_etcd_password.empty(),
         "both CLUSTER_ETCD_USER and CLUSTER_ETCD_PASSWORD, or none of them");
}

void check_store(const settings& config)
{
    const auto want = [](bool fits, const std::string& sentence) {
        if (!fits) throw config_error(sentence);
    };
    const bool has_store = !config.snapshot_store.empty();
    const std::string needs = "SNAPSHOT_STORE=" + config.snapshot_store + " needs ";
    for (const auto* name : {"SNAPSHOT_STORE_KEY_ID", "SNAPSHOT_STORE_SECRET", "SNAPSHOT_STORE_CA", "SNAPSHOT_KEY"})
        want(has_store || find_setting(name)->print(config).empty(),
             std::string(name) + " does nothing without SNAPSHOT_STORE: set that to https://host/bucket");
    want(!has_store || (!config.snapshot_store_key_id.empty() && !config.snapshot_store_secret.empty()),
         needs +
             "SNAPSHOT_STORE_KEY_ID and SNAPSHOT_STORE_SECRET: set them to an access key that may read, write and "
             "list this bucket");
    want(!has_store || !config.snapshot_key.empty(),
         needs +
             "SNAPSHOT_KEY, because snapshots are encrypted before they leave the server: make one with `openssl "
             "rand -hex 32`, set it on all servers of a cluster and keep a copy");
}

}  // namespace

void check_together(const settings& config)
{
    check_tls(config);
    check_cluster(config);
    check_store(config);
}

}  // namespace cmcp
