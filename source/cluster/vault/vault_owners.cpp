#include "config/settings.hpp"
#include "log/log.hpp"
#include "sealing/bad_snapshot.hpp"
#include "vault/sandbox_vault.hpp"

#include <algorithm>

namespace cmcp {

// The part of sandbox_vault that knows who owns what.

void sandbox_vault::share(sandbox_owners& owners, std::function<bool()> in_touch)
{
    owners_ = &owners;
    in_touch_ = std::move(in_touch);
}

void sandbox_vault::refuse_where_unsure(const sandbox_record& where) const
{
    if (!in_touch_())
        throw sandbox_error("NodeCutOff",
                            "This server does not reach etcd, so the sandbox may be used at another server of the "
                            "cluster now. What runs in it stands still. Call again in a few seconds.");
    const auto leaves = leaving_.find(where.id);
    if (leaves != leaving_.end() && leaves->second)
        throw sandbox_error("NodeUnreachable", "The sandbox is on its way to another server. Call again in a moment.");
}

std::string sandbox_vault::moved_to(std::string_view handle) const
{
    const auto& own = sandboxes_.handles().node();
    const std::string id(handle);
    if (leaving_.contains(id)) return own;
    const auto at = claims_.find(id);
    if (at != claims_.end()) return at->second.node;
    const bool knows_claims = read_claims_ || is_alone();
    const bool is_unsure = !knows_claims && handle_maker::fits("sbx", id) && handle_maker::node_of(id) == own;
    return is_unsure && !is_here(id) ? own : std::string();
}

// Alone, this server has all that there is.
awaitable<sandbox_claim> sandbox_vault::owner_of(std::string handle)
{
    sandbox_claim owner;
    owner.node = sandboxes_.handles().node();
    if (is_alone()) {
        const auto newest = co_await bucket_.newest_epoch(handle);
        owner.epoch = newest.value_or(0);
        co_return owner;
    }
    owner = co_await owners_->owner_of(handle);
    if (owner.epoch == 0) owner.node = std::string(handle_maker::node_of(handle));
    co_return owner;
}

// The owner after this server has tried to make it the server `to`.
awaitable<sandbox_claim> sandbox_vault::claim_or_owner(std::string handle, std::string to, sandbox_claim before,
                                                       bool gone)
{
    sandbox_claim owner{before.epoch + 1, to};
    if (!is_alone()) {
        co_await owners_->claim(handle, to, before, gone);
        owner = co_await owner_of(handle);
    }
    claims_[handle] = owner;
    co_return owner;
}

// Of servers that knew each other by the bucket.
awaitable<> sandbox_vault::take_claims_of_before()
{
    const bool is_done = co_await owners_->has_claims_of_before();
    if (is_done) co_return;
    auto all = co_await bucket_.claims_of_before();
    for (auto& [handle, owner] : all) {
        sandbox_claim before{owner.epoch - 1, owner.node};
        co_await owners_->claim(handle, owner.node, std::move(before), false);
    }
    if (!all.empty()) log::info("claims_taken", {{"sandboxes", all.size()}});
    co_await owners_->note_claims_of_before();
    co_await bucket_.forget_claims_of_before();
}

awaitable<> sandbox_vault::look_at_claims()
{
    if (is_alone()) co_return;
    co_await take_claims_of_before();
    auto all = co_await owners_->all();
    claims_ = std::move(all);
    read_claims_ = true;
    const auto here = sandboxes_.store().all();
    for (const auto& each : here) co_await give_up_lost(each.id);
    woken_.notify();
}

void sandbox_vault::hear_owners(const std::map<std::string, sandbox_claim>& all)
{
    std::erase_if(claims_, [&](const auto& claim) { return !all.contains(claim.first); });
    for (const auto& [handle, owner] : all) hear_owner(handle, &owner);
}

void sandbox_vault::hear_owner(const std::string& handle, const sandbox_claim* owner)
{
    if (owner == nullptr) claims_.erase(handle);
    if (is_newer_here(handle, owner == nullptr ? 0 : owner->epoch)) return woken_.notify();  // claim_again()
    if (owner == nullptr) return;
    auto& latest = claims_[handle];
    if (latest.epoch > owner->epoch) return;  // this server's own, which was heard already
    latest = *owner;
    if (owner->node != sandboxes_.handles().node() && find_here(handle))
        giving_up_.spawn("a sandbox that another server has", give_up_lost(handle));
}

// Whether this server has it by a later claim than etcd knows, which has lost what it had.
bool sandbox_vault::is_newer_here(const std::string& handle, std::uint64_t epoch) const
{
    const auto at = known_.find(handle);
    return at != known_.end() && at->second.epoch > epoch && is_here(handle);
}

awaitable<> sandbox_vault::claim_again()
{
    if (is_alone() || !read_claims_) co_return;
    std::vector<std::string> all;
    for (const auto& [handle, state] : known_) {
        const auto at = claims_.find(handle);
        if (is_newer_here(handle, at == claims_.end() ? 0 : at->second.epoch)) all.push_back(handle);
    }
    for (const auto& handle : all) co_await claim_by_storage(handle);
}

// The owner is who has kept it by the latest claim; a server may have it that has not kept it yet.
awaitable<> sandbox_vault::claim_by_storage(std::string handle)
{
    const auto mine = co_await turns_.take(handle);
    auto owner = co_await owner_of(handle);
    std::optional<snapshots::snapshot_manifest> newest;
    try {
        newest = co_await bucket_.newest(handle);
    } catch (const snapshots::bad_snapshot&) {
        newest.reset();  // nobody could bring it
    }
    const auto here = find_here(handle);
    if (!here) co_return;
    const auto epoch = known_[handle].epoch;
    if (owner.epoch < std::max(epoch, newest ? newest->epoch : 0)) {
        const bool is_older = newest && newest->epoch > epoch;
        auto to = is_older ? newest->node : sandboxes_.handles().node();
        owner.epoch = (is_older ? newest->epoch : epoch) - 1;
        log::warning("claimed_again", {{"sandbox", handle}, {"for", to}});
        owner = co_await claim_or_owner(handle, std::move(to), std::move(owner), false);
    }
    claims_[handle] = owner;
    if (owner.node != sandboxes_.handles().node()) co_await give_up(*here, std::move(owner));
}

// Where another server has claimed it.
awaitable<> sandbox_vault::give_up_lost(std::string handle)
{
    const auto mine = co_await turns_.take(handle);
    const auto at = claims_.find(handle);
    auto here = find_here(handle);
    if (!here || at == claims_.end() || at->second.node == sandboxes_.handles().node()) co_return;
    auto owner = at->second;
    co_await lose(*std::move(here), std::move(owner));
}

}  // namespace cmcp
