#include "cluster/cluster.hpp"

#include "cluster/cluster_routes.hpp"
#include "config/settings.hpp"
#include "entrances/http_server.hpp"
#include "jsonrpc/read_object.hpp"
#include "runs/sandbox_error.hpp"
#include "text/words.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds patience_of_calls(4000);

}  // namespace

cluster::cluster(asio::any_io_executor executor, const settings& config, reported_by_server own,
                 moving_sandboxes moving)
    : all(config),
      link_key(config.link_key),
      load(own.load),
      links(std::make_shared<member_links>(executor, config)),
      etcd(executor, config, [links = links] { return links->trust(); }),
      lease(etcd, config, all, load),
      owners(etcd, config),
      places(all, lease, telling(moving)),
      shared(executor, etcd, config, all, lease, std::move(own)),
      moves(all, links, telling(moving), shared.loads()),
      requests(all, links, places),
      lists(executor, all, links),
      calls(executor, config, all, places, links, lists, shared.holdings()),
      names_(config),
      has_moving_(static_cast<bool>(moving.find)),
      has_lost_(moving.has_lost)
{
    links->use([this] { return all.staying(); });
    all.on_change([this] {
        for (const auto& name : all.lost()) links->break_off(name);
        links->close_to_others();
        lease.changed().notify();
    });
}

void cluster::listen(sandbox_listener to)
{
    owners_heard_ = std::move(to.owners);
    lease.on_change(std::move(to.lease));
}

awaitable<> cluster::hear_members()
{
    etcd_client::listener to;
    to.whole = [this](const std::vector<etcd_entry>& entries) { all.put_all(entries); };
    to.changed = [this](const etcd_entry& entry, bool removed) { all.put(entry, removed); };
    return etcd.watch(names_.members(), std::move(to));
}

// Whoever hears of this server may ask it at once, and is known to it then.
awaitable<> cluster::enter()
{
    auto reading = etcd.all_below(names_.members());
    const auto entries = co_await if_answered(etcd, std::move(reading));
    if (entries) all.put_all(*entries);
    co_await lease.enter();
}

void cluster::start(task_group& tasks)
{
    lists.start();
    tasks.spawn("registration in etcd", lease.run());
    tasks.spawn("registrations of other servers", hear_members());
    if (owners_heard_.whole) tasks.spawn("owners of sandboxes", owners.listen(owners_heard_));
    tasks.spawn("sandboxes that are given away", moves.run());
    shared.start(tasks);
}

// A sandbox that was brought here is told before anyone hears of it.
moving_sandboxes cluster::telling(moving_sandboxes moving)
{
    if (!moving.find) return moving;
    moving.find = [this, find = moving.find](std::string handle, std::string node, gone_question is_gone) {
        return find_and_tell(find, std::move(handle), std::move(node), std::move(is_gone));
    };
    return moving;
}

awaitable<std::string> cluster::find_and_tell(find_call find, std::string handle, std::string node,
                                              gone_question is_gone)
{
    auto place = co_await find(std::move(handle), std::move(node), std::move(is_gone));
    if (place == all.own().name) co_await shared.holdings().tell(false);
    co_return place;
}

void cluster::join(core_limits& limits)
{
    limits.shared_secret = link_key;
    limits.begin_call = [this](const std::string& principal, bool counts) { return begin_call(principal, counts); };
    limits.end_call = [this](const ended_call& call) { return end_call(call); };
}

// A call waits while another member of etcd becomes its leader, before it has begun.
awaitable<std::chrono::milliseconds> cluster::begin_call(std::string principal, bool counts)
{
    if (has_moving_) co_await lease.be_sure(patience_of_calls);
    const auto wait = co_await shared.holdings().begin_call(std::move(principal), counts);
    co_return wait;
}

// Whoever stood still past its lease may have changed what another server has brought from a snapshot of before.
awaitable<bool> cluster::end_call(ended_call call)
{
    co_await shared.holdings().end_call(call.principal);
    if (!has_moving_ || !call.succeeded) co_return true;
    const bool is_sure = co_await lease.be_sure(patience_of_calls);
    co_return is_sure && !(has_lost_ && has_lost_(call.principal, call.began));
}

awaitable<std::shared_ptr<void>> cluster::begin_making(std::string principal, std::string name)
{
    if (has_moving_ && !lease.is_in_touch())
        throw sandbox_error("NodeCutOff",
                            "This server does not reach etcd, so it makes no sandboxes. Call again in a few seconds.");
    return shared.holdings().begin_making(std::move(principal), std::move(name));
}

// A server that has them would have been asked, unless it takes nothing new.
void cluster::check_labels(const label_map& wanted)
{
    if (shared.loads().has_own(wanted)) return;
    constexpr std::size_t most_named = 24;
    auto there = shared.loads().labels();
    if (there.size() > most_named) {
        there.resize(most_named);
        there.emplace_back("…");
    }
    throw sandbox_error(
        "InvalidArgument",
        "No server that takes sandboxes now has the labels " + labels_text(wanted) + ". " +
            (there.empty() ? "None has any (CLUSTER_LABELS)." : "Servers have: " + joined(there, ", ") + "."));
}

void cluster::join(server_core& core)
{
    core_ = &core;
    core.work_with(calls);
    calls.work_on(core.pool());
    etcd.work_on(core.pool());
}

bool cluster::take_list_change(std::string_view from, std::string_view list)
{
    if (core_ == nullptr || all.other(from) == nullptr || (list != "tools" && list != "prompts")) return false;
    core_->list_changed_elsewhere(std::string(list));
    return true;
}

void cluster::join(http_parts& to)
{
    to.members = &requests;
    to.logins = shared.logins();
    to.member_routes = [this](router& routes) { add_member_routes(routes, *this); };
}

}  // namespace cmcp
