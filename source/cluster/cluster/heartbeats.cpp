#include "cluster/heartbeats.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "metrics/registry.hpp"
#include "text/random_id.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

using named_load = std::pair<const std::string, json::object>;

constexpr auto gone_after_ms = "6000";

std::string beat_key(const std::string& member) { return "cmcp:member:" + member; }

std::string told_key(const std::string& member) { return "cmcp:told:" + member; }

bool is_same_life(const named_load& one, const named_load& other)
{
    return one.first == other.first && view_of(one.second, "mark") == view_of(other.second, "mark");
}

void count_alive(std::size_t members)
{
    static auto& alive =
        metrics::all().gauges("cmcp_members_alive", "Other servers of the cluster that the directory knows of.").at();
    alive.set(static_cast<double>(members));
}

}  // namespace

server_load read_load(const json::object& beat)
{
    server_load load;
    load.runs = count_of(beat, "runs");
    load.most_runs = count_of(beat, "max_runs");
    load.runs_waiting = count_of(beat, "runs_waiting");
    load.sandboxes = count_of(beat, "sandboxes");
    load.homes = count_of(beat, "homes");
    load.memory_free = count_of(beat, "memory_available");
    load.memory = count_of(beat, "memory");
    load.disk_free = count_of(beat, "disk_available");
    load.disk = count_of(beat, "disk");
    load.drains = flag_of(beat, "drains");
    return load;
}

directory_command heartbeats::told_all(const std::string& member)
{
    return {"SET", told_key(member), "all", "PX", gone_after_ms};
}

directory_command heartbeats::who_told_all(const members& all)
{
    directory_command question{"MGET"};
    for (const auto& each : all.others()) question.push_back(told_key(each.name));
    return question;
}

heartbeats::heartbeats(directory& told_in, const members& all, std::function<json::object()> own)
    : directory_(told_in), members_(all), own_(std::move(own)), own_mark_(random_id(8))
{
}

bool heartbeats::is_alive(std::string_view member, std::string_view mark) const
{
    const auto at = loads_.find(member);
    return at != loads_.end() && view_of(at->second, "mark") == mark;
}

const json::object* heartbeats::load_of(std::string_view member) const
{
    const auto at = loads_.find(member);
    return at == loads_.end() ? nullptr : &at->second;
}

awaitable<bool> heartbeats::beat()
{
    auto own = own_();
    own["mark"] = own_mark_;
    own_load_ = read_load(own);
    std::vector<directory_command> commands;
    commands.push_back({"SET", beat_key(members_.own().name), jsonrpc::write_json(own), "PX", gone_after_ms, "GET"});
    if (!members_.others().empty()) commands.push_back({"MGET"});
    for (const auto& each : members_.others()) commands.back().push_back(beat_key(each.name));
    commands.push_back({"PEXPIRE", told_key(members_.own().name), gone_after_ms});
    const auto answers = co_await directory_.ask(std::move(commands));
    std::map<std::string, json::object, std::less<>> loads;
    const auto& others = members_.others();
    for (std::size_t i = 0; answers.size() > 2 && i < std::min(others.size(), answers[1].items.size()); ++i)
        if (answers[1].items[i].is == directory_reply::kind::text)
            loads.emplace(others[i].name, jsonrpc::read_object(answers[1].items[i].text));
    if (!std::ranges::equal(loads, loads_, is_same_life)) ++changes_;
    loads_ = std::move(loads);
    names_.clear();
    other_loads_.clear();
    for (const auto& [name, beat] : loads_) {
        names_.push_back(name);
        other_loads_.push_back(read_load(beat));
    }
    count_alive(loads_.size());
    co_return !answers.empty() && answers[0].is == directory_reply::kind::nothing;
}

std::string heartbeats::note_place(std::optional<std::size_t> place)
{
    if (!place) return {};
    note_placed(other_loads_[*place]);
    return names_[*place];
}

std::string heartbeats::place_sandbox() { return note_place(cmcp::place_sandbox(own_load_, other_loads_, chance_)); }

std::string heartbeats::place_given_away()
{
    auto full = own_load_;
    full.drains = true;
    return note_place(cmcp::place_sandbox(full, other_loads_, chance_));
}

std::string heartbeats::place_surplus()
{
    const auto place = cmcp::place_surplus(own_load_, other_loads_);
    if (place) --own_load_.sandboxes;
    return note_place(place);
}

bool heartbeats::takes_home(std::string_view member) const
{
    const auto place = std::ranges::find(names_, member) - names_.begin();
    const auto at = static_cast<std::size_t>(place);
    if (at == names_.size() && member != members_.own().name) return false;
    const auto& load = at == names_.size() ? own_load_ : other_loads_[at];
    auto all = own_load_.homes;
    auto takers = static_cast<std::size_t>(!own_load_.drains);
    for (const auto& each : other_loads_) {
        all += each.homes;
        if (!each.drains) ++takers;
    }
    return !load.drains && load.homes < most_homes(all, takers);
}

}  // namespace cmcp
