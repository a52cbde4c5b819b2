#include "cluster/cluster.hpp"

#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"

#include <utility>

namespace cmcp {

namespace {

void add_load(json::object& row, const json::object& load)
{
    for (const auto& each : load)
        if (each.key() != "mark") row[each.key()] = each.value();
    row["pressure"] = pressure_of(read_load(load));
}

}  // namespace

cluster::cluster(asio::any_io_executor executor, const settings& config, reported_by_server own,
                 moving_sandboxes moving)
    : all(config),
      link_key(config.link_key),
      load(own.load),
      links(std::make_shared<member_links>(executor, config)),
      watch(executor, all, links, static_cast<bool>(moving.find), config.sandbox_root / "promises"),
      places(all, watch, telling(moving)),
      shared(config.cluster_directory.empty()
                 ? nullptr
                 : std::make_unique<shared_knowledge>(executor, config, all, std::move(own))),
      moves(executor, all, links, telling(std::move(moving)), shared.get()),
      requests(all, links, places),
      lists(executor, all, links),
      calls(executor, config, all, places, links, lists, shared ? &shared->holdings() : nullptr)
{
}

// A sandbox that was brought here is in the directory before anyone hears of it.
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
    if (shared && place == all.own().name) co_await shared->holdings().tell(false);
    co_return place;
}

void cluster::join(core_limits& limits)
{
    limits.shared_secret = link_key;
    if (!shared) return;
    auto* const holdings = &shared->holdings();
    limits.begin_call = [holdings](const std::string& principal, bool counts) {
        return holdings->begin_call(principal, counts);
    };
    limits.end_call = [holdings](const std::string& principal) { return holdings->end_call(principal); };
}

void cluster::join(server_core& core)
{
    core_ = &core;
    core.work_with(calls);
    calls.work_on(core.pool());
}

bool cluster::take_list_change(std::string_view from, std::string_view list)
{
    if (core_ == nullptr || all.other(from) == nullptr || (list != "tools" && list != "prompts")) return false;
    core_->list_changed_elsewhere(std::string(list));
    return true;
}

void cluster::join(gateways& to)
{
    to.members = &requests;
    to.cluster = this;
    if (shared) to.logins = shared->logins();
}

json::object cluster::describe() const
{
    json::object answer;
    answer["node"] = all.own().name;
    answer["in_touch"] = watch.is_in_touch();
    json::array& rows = answer["members"].emplace_array();
    const auto add = [&](const cluster_member& member, const json::object* load, std::string_view state) {
        json::object row;
        row["name"] = member.name;
        row["host"] = member.host;
        row["state"] = load != nullptr && flag_of(*load, "drains") ? "drains" : state;
        if (load != nullptr) add_load(row, *load);
        rows.push_back(std::move(row));
    };
    const auto own_load = load();
    add(all.own(), &own_load, "up");
    for (const auto& each : all.others()) {
        const auto* beat = shared ? shared->load_of(each.name) : nullptr;
        add(each, beat, beat != nullptr ? "up" : shared ? "gone" : "unknown");
    }
    return answer;
}

awaitable<json::object> cluster::move(std::string sandbox, std::string to)
{
    json::object done{{"sandbox", sandbox}};
    const auto node = co_await moves.move(std::move(sandbox), std::move(to));
    done["node"] = node;
    co_return done;
}

json::object cluster::drain(bool on)
{
    moves.drain(on);
    return {{"drains", on}, {"sandboxes", moves.left()}};
}

awaitable<json::object> cluster::rebalance()
{
    const auto moved = co_await moves.rebalance();
    co_return json::object{{"moved", moved}};
}

}  // namespace cmcp
