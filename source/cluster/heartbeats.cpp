#include "cluster/heartbeats.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "metrics/registry.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

using load = std::pair<const std::string, json::object>;

constexpr auto gone_after_ms = "6000";

std::string beat_key(const std::string& member) { return "cmcp:member:" + member; }

void count_alive(std::size_t members)
{
    static auto& alive =
        metrics::all().gauges("cmcp_members_alive", "Other servers of the cluster that the directory knows of.").at();
    alive.set(static_cast<double>(members));
}

}  // namespace

awaitable<bool> heartbeats::beat()
{
    std::vector<directory_command> commands;
    commands.push_back({"SET", beat_key(members_.own().name), jsonrpc::write_json(own_()), "PX", gone_after_ms, "GET"});
    if (!members_.others().empty()) commands.push_back({"MGET"});
    for (const auto& each : members_.others()) commands.back().push_back(beat_key(each.name));
    const auto answers = co_await directory_.ask(std::move(commands));
    std::map<std::string, json::object, std::less<>> loads;
    for (std::size_t i = 0; answers.size() > 1 && i < answers[1].items.size(); ++i)
        if (answers[1].items[i].is == directory_reply::kind::text)
            loads.emplace(members_.others()[i].name, jsonrpc::read_object(answers[1].items[i].text));
    if (!std::ranges::equal(loads, loads_, {}, &load::first, &load::first)) ++changes_;
    loads_ = std::move(loads);
    count_alive(loads_.size());
    co_return !answers.empty() && answers[0].is == directory_reply::kind::nothing;
}

}  // namespace cmcp
