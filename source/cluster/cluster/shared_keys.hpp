#pragma once

#include "cluster/etcd_names.hpp"
#include "etcd/etcd_client.hpp"
#include "identity/identity_store.hpp"
#include "identity/shared_logins.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct settings;

/// The API keys of all servers of a cluster: each tells its own in etcd, signed with SANDBOX_LINK_KEY, because
/// whoever writes there must not make keys. Also proofs of possession that were used. Io thread only.
class shared_keys {
public:
    /// Both must outlive this.
    shared_keys(etcd_client& etcd, const settings& config);

    /// Tells what is new of this server's keys, or all of them.
    awaitable<> tell(bool everything);

    awaitable<key_elsewhere> find(std::string id);

    /// As shared_logins::first_use.
    awaitable<std::optional<bool>> first_use(std::string digest, std::chrono::seconds keep);

private:
    std::string sealed(const key_record& key) const;
    std::optional<key_record> opened(const std::string& text, std::string_view id) const;

    awaitable<std::int64_t> lease_for(std::chrono::seconds keep);

    etcd_client& etcd_;
    const settings& config_;
    etcd_names names_;
    std::unique_ptr<identity_store> store_;
    std::map<std::string, std::string> told_;  // by id
    struct window {
        std::int64_t lease = 0;
        std::chrono::steady_clock::time_point until{};
    };
    std::map<std::chrono::seconds, window> windows_;  // of proofs that are kept so long
};

}  // namespace cmcp
