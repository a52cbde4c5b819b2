#include "cluster/etcd_owners.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"

#include <utility>

namespace cmcp {

namespace {

sandbox_claim claim_in(const etcd_entry& entry)
{
    const auto text = jsonrpc::read_object(entry.value);
    return {count_of(text, "epoch"), text_of(text, "node"), entry.modified};
}

// The answer; throws owners_away where there is none.
template <class T>
awaitable<T> asked(awaitable<T> question)
{
    std::string problem;
    try {
        auto answer = co_await std::move(question);
        co_return answer;
    } catch (const etcd_away& away) {
        problem = away.what();
    } catch (const etcd_refusal& refused) {
        problem = refused.what();
    }
    throw owners_away("etcd, which knows the server of each sandbox, cannot be asked: " + problem);
}

}  // namespace

std::map<std::string, sandbox_claim> etcd_owners::owners_in(const std::vector<etcd_entry>& all) const
{
    std::map<std::string, sandbox_claim> owners;
    for (const auto& entry : all) owners.emplace(handle_of(entry), claim_in(entry));
    return owners;
}

awaitable<std::map<std::string, sandbox_claim>> etcd_owners::all()
{
    auto question = etcd_.all_below(names_.owners());
    const auto entries = co_await asked(std::move(question));
    co_return owners_in(entries);
}

awaitable<sandbox_claim> etcd_owners::owner_of(std::string handle)
{
    auto question = etcd_.get(names_.owner(handle));
    const auto entry = co_await asked(std::move(question));
    co_return entry ? claim_in(*entry) : sandbox_claim();
}

awaitable<bool> etcd_owners::claim(std::string handle, std::string to, sandbox_claim before, bool gone)
{
    const auto key = names_.owner(handle);
    const json::object text{{"node", to}, {"epoch", before.epoch + 1}};
    etcd_transaction claim;
    claim.if_modified_in(key, before.revision);
    if (gone) claim.if_absent(names_.member(before.node));
    claim.put(key, jsonrpc::write_json(text));
    auto commit = etcd_.commit(std::move(claim));
    const auto outcome = co_await asked(std::move(commit));
    co_return outcome.done;
}

awaitable<> etcd_owners::forget(std::string handle)
{
    etcd_transaction end;
    end.remove(names_.owner(handle));
    auto commit = etcd_.commit(std::move(end));
    co_await asked(std::move(commit));
}

awaitable<bool> etcd_owners::has_claims_of_before()
{
    auto question = etcd_.get(names_.claims_of_before());
    const auto entry = co_await asked(std::move(question));
    co_return entry.has_value();
}

awaitable<> etcd_owners::note_claims_of_before()
{
    auto note = etcd_.put(names_.claims_of_before(), "true");
    co_await asked(std::move(note));
}

awaitable<> etcd_owners::listen(listener to)
{
    etcd_client::listener ear;
    ear.whole = [this, whole = std::move(to.whole)](const std::vector<etcd_entry>& all) { whole(owners_in(all)); };
    ear.changed = [this, changed = std::move(to.changed)](const etcd_entry& entry, bool removed) {
        const auto owner = claim_in(entry);
        changed(handle_of(entry), removed ? nullptr : &owner);
    };
    return etcd_.watch(names_.owners(), std::move(ear));
}

}  // namespace cmcp
