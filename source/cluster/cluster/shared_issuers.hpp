#pragma once

#include "cluster/etcd_names.hpp"
#include "etcd/etcd_client.hpp"
#include "identity/shared_issuer_keys.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct settings;

/// The key sets of authorization servers that any server of a cluster has fetched, each with the time of its fetch,
/// signed with SANDBOX_LINK_KEY, because whoever writes into etcd must not make keys. Io thread only.
class shared_issuers {
public:
    /// Both must outlive this.
    shared_issuers(etcd_client& etcd, const settings& config);

    shared_issuer_keys keys();  ///< must not outlive this

private:
    awaitable<std::optional<fetched_key_set>> find(std::string issuer);
    awaitable<bool> claim(std::string issuer, std::chrono::seconds pause);
    awaitable<> tell(std::string issuer, std::string document);

    etcd_client& etcd_;
    const settings& config_;
    etcd_names names_;
};

/// The entry for a key set that was fetched then, in seconds since 1970. Pure.
std::string sealed_key_set(std::string_view key, const std::string& issuer, const std::string& document, double when);

/// Nothing: the entry is no key set of this issuer, or was not signed with the key.
std::optional<fetched_key_set> opened_key_set(std::string_view key, std::string_view issuer, std::string_view sealed,
                                              double now);

}  // namespace cmcp
