#include "cluster/shared_keys.hpp"

#include "cluster/sealed_entry.hpp"
#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/read_real.hpp"
#include "jsonrpc/write_json.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds window_of_proofs(10);

json::object described(const key_record& key)
{
    return {{"id", key.id},           {"digest", key.digest},   {"principal", key.principal},
            {"scopes", key.scopes},   {"profile", key.profile}, {"networks", key.networks},
            {"expires", key.expires}, {"revoked", key.revoked}};
}

}  // namespace

shared_keys::shared_keys(etcd_client& etcd, const settings& config) : etcd_(etcd), config_(config), names_(config) {}

std::string shared_keys::sealed(const key_record& key) const
{
    return sealed_entry(config_.link_key, "key", jsonrpc::write_json(described(key)));
}

std::optional<key_record> shared_keys::opened(const std::string& text, std::string_view id) const
{
    const auto said = opened_entry(config_.link_key, "key", text);
    const auto row = said ? jsonrpc::read_object(*said) : json::object();
    if (view_of(row, "id") != id) return std::nullopt;
    key_record key;
    key.id = id;
    key.digest = view_of(row, "digest");
    key.principal = view_of(row, "principal");
    key.scopes = view_of(row, "scopes");
    key.profile = view_of(row, "profile");
    key.networks = view_of(row, "networks");
    key.expires = real_of(row, "expires");
    key.revoked = real_of(row, "revoked");
    return key;
}

awaitable<> shared_keys::tell(bool everything)
{
    if (!store_) store_ = identity_store::existing(config_.sandbox_root);
    if (everything) told_.clear();
    if (!store_ || !etcd_.is_there()) co_return;
    const auto keys = store_->keys();
    for (const auto& key : keys) {
        auto text = sealed(key);
        if (const auto before = told_.find(key.id); before != told_.end() && before->second == text) continue;
        auto news = etcd_.put(names_.key(key.id), text);
        const auto outcome = co_await if_answered(etcd_, std::move(news));
        if (!outcome) co_return;
        told_[key.id] = std::move(text);
    }
}

awaitable<key_elsewhere> shared_keys::find(std::string id)
{
    auto question = etcd_.get(names_.key(id));
    const auto entry = co_await if_answered(etcd_, std::move(question));
    key_elsewhere look;
    look.is_answered = entry.has_value();
    if (entry && *entry) look.record = opened((*entry)->value, id);
    co_return look;
}

// Proofs of a window share a lease, which ends when the last of them is not accepted any more.
awaitable<std::int64_t> shared_keys::lease_for(std::chrono::seconds keep)
{
    const auto now = std::chrono::steady_clock::now();
    auto& of = windows_[keep];
    if (of.lease != 0 && now < of.until) co_return of.lease;
    const auto lease = co_await etcd_.grant((keep + window_of_proofs).count());
    windows_[keep] = {lease, now + window_of_proofs};
    co_return lease;
}

awaitable<std::optional<bool>> shared_keys::first_use(std::string digest, std::chrono::seconds keep)
{
    std::optional<bool> first;
    auto grant = lease_for(keep);
    const auto lease = co_await if_answered(etcd_, std::move(grant));
    if (!lease) co_return first;
    auto claim = etcd_.put_if_absent(names_.proof(digest), "1", *lease);
    const auto outcome = co_await if_answered(etcd_, std::move(claim));
    if (outcome) first = outcome->done;
    if (!outcome) windows_.erase(keep);  // its lease may have ended
    co_return first;
}

}  // namespace cmcp
