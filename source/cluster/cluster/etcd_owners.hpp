#pragma once

#include "cluster/etcd_names.hpp"
#include "etcd/etcd_client.hpp"
#include "vault/sandbox_owners.hpp"

#include <functional>
#include <map>
#include <string>

namespace cmcp {

/// The owners of sandboxes in etcd: `own/<handle>` is {"node", "epoch"}, and a claim replaces exactly the one that was
/// read. Io thread only.
class etcd_owners final : public sandbox_owners {
public:
    /// Both must outlive this.
    etcd_owners(etcd_client& etcd, const cluster_settings& config) : etcd_(etcd), names_(config) {}

    awaitable<std::map<std::string, sandbox_claim>> all() override;
    awaitable<sandbox_claim> owner_of(std::string handle) override;
    awaitable<bool> claim(std::string handle, std::string to, sandbox_claim before, bool gone) override;
    awaitable<> forget(std::string handle) override;
    awaitable<bool> has_claims_of_before() override;
    awaitable<> note_claims_of_before() override;

    struct listener {
        std::function<void(std::map<std::string, sandbox_claim> all)> whole;
        std::function<void(const std::string& handle, const sandbox_claim* owner)> changed;  ///< null: none
    };
    awaitable<> listen(listener to);  ///< until it is cancelled

private:
    std::map<std::string, sandbox_claim> owners_in(const std::vector<etcd_entry>& all) const;
    std::string handle_of(const etcd_entry& entry) const { return entry.key.substr(names_.owners().size()); }

    etcd_client& etcd_;
    etcd_names names_;
};

}  // namespace cmcp
