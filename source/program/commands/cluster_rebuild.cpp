#include "cluster/etcd_owners.hpp"
#include "cluster/member_trust.hpp"
#include "commands/commands.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "etcd/etcd_client.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "sealing/bad_snapshot.hpp"
#include "server/run_loop.hpp"
#include "vault/sandbox_bucket.hpp"

#include <iostream>
#include <memory>

namespace cmcp::command {

namespace {

struct rebuilt {
    json::array written, unreadable;
    std::size_t known = 0, never_moved = 0;
};

// Of one that etcd does not know. Nothing is written in place of what a server has written meanwhile.
awaitable<> rebuild_owner(sandbox_bucket& bucket, sandbox_owners& owners, std::string handle, bool dry_run,
                          rebuilt& into)
{
    std::optional<snapshots::snapshot_manifest> newest;
    try {
        newest = co_await bucket.newest(handle);
    } catch (const snapshots::bad_snapshot& problem) {
        into.unreadable.push_back({{"sandbox", handle}, {"reason", problem.what()}});
    }
    if (!newest) co_return;
    bool is_done = dry_run;
    const sandbox_claim before{newest->epoch - 1, newest->node};
    if (!dry_run) is_done = co_await owners.claim(handle, newest->node, before, false);
    if (is_done)
        into.written.push_back({{"sandbox", handle}, {"server", newest->node}, {"epoch", newest->epoch}});
    else
        ++into.known;
}

// A sandbox that has never moved is where its handle says, and nobody writes that down.
awaitable<> rebuild_all(const settings& config, bool dry_run, rebuilt& into)
{
    const auto executor = co_await asio::this_coro::executor;
    auto trust = member_trust(config).context();
    etcd_client etcd(executor, config, [trust] { return trust; });
    etcd_owners owners(etcd, config);
    sandbox_bucket bucket(executor, config);
    const auto known = co_await owners.all();
    const auto newest = co_await bucket.newest_of_all();
    for (const auto& [handle, epoch] : newest) {
        if (known.contains(handle))
            ++into.known;
        else if (epoch == 0)
            ++into.never_moved;
        else
            co_await rebuild_owner(bucket, owners, handle, dry_run, into);
    }
}

void print(const rebuilt& all, bool dry_run)
{
    for (const auto& each : all.written)
        std::cout << each.at("sandbox").as_string().c_str() << "  " << each.at("server").as_string().c_str() << '\n';
    for (const auto& each : all.unreadable)
        std::cerr << "container-mcp: " << each.at("sandbox").as_string().c_str() << ": "
                  << each.at("reason").as_string().c_str() << '\n';
    std::cout << all.written.size() << (dry_run ? " owners would be written, " : " owners written, ") << all.known
              << " are in etcd already, " << all.never_moved << " sandboxes are where their handles say\n";
}

}  // namespace

int rebuild_owners(const settings& config, bool dry_run, bool json)
{
    if (config.cluster_etcd.empty() || config.snapshot_store.empty())
        throw config_error(
            "Owners of sandboxes are rebuilt from the storage of snapshots: CLUSTER_ETCD and "
            "SNAPSHOT_STORE must be set as for the servers.");
    log::set_threshold(log::level::error);
    ignore_signals();
    rebuilt all;
    asio::io_context io(1);
    run_loop(io, rebuild_all(config, dry_run, all));
    const json::object answer{{"dry_run", dry_run},
                              {"written", all.written},
                              {"unreadable", all.unreadable},
                              {"known", all.known},
                              {"never_moved", all.never_moved}};
    if (json)
        std::cout << jsonrpc::write_json(answer) << '\n';
    else
        print(all, dry_run);
    return all.unreadable.empty() ? 0 : 1;
}

}  // namespace cmcp::command
