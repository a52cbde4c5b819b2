#include "config/settings.hpp"
#include "log/log.hpp"
#include "vault/sandbox_vault.hpp"

namespace cmcp {

// The part of sandbox_vault that knows who owns what.

void sandbox_vault::refuse_where_unsure(const sandbox_record& where) const
{
    if (!in_touch_())
        throw sandbox_error("NodeCutOff",
                            "This server does not reach the most of its cluster, so the sandbox may be used at another "
                            "one now. Call again in a few seconds.");
    const auto leaves = leaving_.find(where.id);
    if (leaves != leaving_.end() && leaves->second)
        throw sandbox_error("NodeUnreachable", "The sandbox is on its way to another server. Call again in a moment.");
    const auto at = known_.find(where.id);
    if (at == known_.end() || !at->second.released) return;
    throw sandbox_error("SnapshotStoreError",
                        "The sandbox may be at another server since this one was stopped, and the storage of snapshots "
                        "(SNAPSHOT_STORE), which knows, does not answer. Call again in a few seconds.");
}

std::string sandbox_vault::moved_to(std::string_view handle) const
{
    const auto& own = sandboxes_.handles().node();
    const std::string id(handle);
    if (leaving_.contains(id)) return own;
    const auto at = claims_.find(id);
    if (at != claims_.end()) return at->second.node;
    const bool knows_claims = read_claims_ || config_.cluster_members.empty();
    const bool is_unsure = !knows_claims && handle_maker::fits("sbx", id) && handle_maker::node_of(id) == own;
    return is_unsure && !is_here(id) ? own : std::string();
}

// A server alone has no others that claim anything. Of the many default sandboxes, owners are looked for where it
// matters.
awaitable<> sandbox_vault::look_at_claims()
{
    if (config_.cluster_members.empty()) co_return;
    const auto before = claims_;
    auto wanted = [this](const std::string& handle) {
        const auto known = claims_.find(handle);
        return !is_default(handle) || find_here(handle) || (known != claims_.end() && !known->second.node.empty());
    };
    const auto seen = co_await bucket_.claims(before, std::move(wanted));
    const auto is_over = [&](const auto& claim) { return before.contains(claim.first) && !seen.contains(claim.first); };
    std::erase_if(claims_, is_over);  // the sandbox was deleted
    std::vector<sandbox_record> lost;
    for (const auto& [handle, owner] : seen) {
        auto& latest = claims_[handle];
        if (latest.epoch > owner.epoch) continue;  // claimed while the list was on its way
        if (latest.epoch < owner.epoch || latest.node.empty()) latest = owner;
        auto here = latest.node.empty() ? std::nullopt : find_here(handle);
        if (here && latest.node != sandboxes_.handles().node()) lost.push_back(std::move(*here));
    }
    read_claims_ = true;
    for (const auto& each : lost) {
        auto owner = claims_.at(each.id);
        co_await give_up(each, std::move(owner));
    }
}

awaitable<> sandbox_vault::look_for_owner(std::string handle)
{
    const auto at = claims_.find(handle);
    if (at == claims_.end() || !at->second.node.empty()) co_return;
    std::string problem;
    try {
        auto owner = co_await bucket_.owner_of(handle);
        if (owner.epoch >= claims_[handle].epoch) claims_[handle] = std::move(owner);
    } catch (const object_store_error& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) log::info("owner_not_known", {{"sandbox", handle}, {"reason", problem}});
}

}  // namespace cmcp
