#pragma once

#include "cluster/etcd_names.hpp"
#include "etcd/etcd_client.hpp"
#include "identity/identity_store.hpp"
#include "identity/quotas.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

struct settings;

/// The limits that administrators gave single principals at any server of a cluster: each server keeps all of them in
/// its own store, and the latest change counts. In etcd they are signed with SANDBOX_LINK_KEY, because whoever
/// writes there must not give quotas. Io thread only.
class shared_quotas {
public:
    /// All must outlive this.
    shared_quotas(etcd_client& etcd, const settings& config, quotas& limits);

    /// Tells what changes here and takes what changes elsewhere, until it is cancelled.
    awaitable<> run();

    /// Hears what changes elsewhere, until it is cancelled; beside run().
    awaitable<> listen();

private:
    using rows = std::map<std::string, stored_limit>;  // by key

    void open_store(bool make);
    awaitable<bool> settle_where_needed();
    awaitable<bool> settle();
    void settle_soon();
    awaitable<rows> take(std::vector<etcd_entry> all);
    awaitable<bool> tell_missing(rows known_rows);

    etcd_client& etcd_;
    const settings& config_;
    etcd_names names_;
    quotas& limits_;
    std::unique_ptr<identity_store> store_;
    std::int64_t version_ = -1;  // of the store, as it was told
    bool is_due_ = true;
    event changed_;
    std::string trouble_;  // as the log has it
};

/// The entry for a limit. Pure.
std::string sealed_limit(std::string_view key, const stored_limit& one);

/// Nothing: it was not signed with the key.
std::optional<stored_limit> opened_limit(std::string_view key, std::string_view sealed);

}  // namespace cmcp
