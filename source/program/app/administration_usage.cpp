#include "app/administration.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <unistd.h>

// The part of administration that counts.
namespace cmcp {

namespace {

constexpr std::size_t most_principals = 1000;

json::object empty_row(const std::string& principal)
{
    json::object row;
    row["principal"] = principal;
    for (const auto* name : {"calls", "calls_failed", "runs", "runs_waiting", "sandboxes", "default_sandboxes",
                             "disk_bytes", "jobs", "tasks", "kernels", "shells", "sessions", "cpu_seconds"})
        row[name] = 0;
    return row;
}

template <class T>
void add(json::object& row, const char* name, T more)
{
    row[name] = row[name].to_number<std::uint64_t>() + static_cast<std::uint64_t>(more);
}

std::uint64_t resident_bytes()
{
    std::ifstream statm("/proc/self/statm");
    std::uint64_t size = 0, resident = 0;
    statm >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

json::array load_averages()
{
    std::array<double, 3> load{};
    const int known = ::getloadavg(load.data(), static_cast<int>(load.size()));
    return json::array(load.begin(), load.begin() + std::max(0, known));
}

// Rows of principals, found by name; those that the viewer does not see are left out.
class usage_table {
public:
    explicit usage_table(const admin_viewer& by) : by_(by) {}

    void change(const std::string& principal, const auto& how)
    {
        if (!by_.sees(principal)) return;
        auto [row, fresh] = rows_.try_emplace(principal);
        if (fresh) row->second = empty_row(principal);
        how(row->second);
    }
    void add(const std::string& principal, const char* name, std::uint64_t more = 1)
    {
        change(principal, [&](json::object& row) { cmcp::add(row, name, more); });
    }
    std::map<std::string, json::object> take() { return std::move(rows_); }

private:
    const admin_viewer& by_;
    std::map<std::string, json::object> rows_;
};

void add_places(usage_table& table, const run_admission& admission)
{
    for (const auto& each : admission.shares()) {
        table.add(each.principal, "runs", each.running);
        table.add(each.principal, "runs_waiting", each.waiting);
    }
}

}  // namespace

std::map<std::string, json::object> administration::rows_of_usage(const admin_viewer& by,
                                                                  const admin_connections& known)
{
    usage_table table(by);
    for (const auto& [principal, totals] : of_.core.history().totals())
        table.change(principal, [&, &sum = totals](json::object& row) {
            row["calls"] = sum.calls;
            row["calls_failed"] = sum.failed;
            row["cpu_seconds"] = sum.cpu_seconds;
        });
    add_places(table, *of_.all.admission);
    for (const auto& each : of_.all.background->running())
        if (each->record().keep == 0) table.add(each->record().owner, "jobs");
    for (const auto& each : of_.all.background->tasks()) table.add(each.owner, "tasks", each.count);
    for (const auto& [principal, sessions] : known.sessions) table.add(principal, "sessions", sessions);
    for (const auto& each : of_.all.sandboxes->store().totals()) {
        table.add(each.owner, "sandboxes", each.count);
        table.add(each.owner, "default_sandboxes", each.defaults);
        table.add(each.owner, "disk_bytes", each.disk);
    }
    if (!of_.all.kernels) return table.take();
    for (const auto& each : of_.all.kernels->list()) table.add(each.owner, "kernels");
    for (const auto& each : of_.all.shells->list(0)) table.add(each.owner, "shells");
    for (const auto& each : of_.all.command_shells_->living()) table.add(each.owner, "shells");
    return table.take();
}

json::object administration::machine(const admin_connections& known, const cells& live)
{
    json::object row;
    const auto& runs = *of_.all.admission;
    row["runs"] = runs.running();
    row["runs_waiting"] = runs.waiting();
    row["max_runs"] = runs.most();
    row["sandboxes"] = of_.all.sandboxes->store().count({.of_all = true});
    row["live"] = live.size();
    row["kernels"] = of_.all.kernels ? of_.all.kernels->list().size() : 0;
    row["shells"] = of_.all.shells ? of_.all.shells->living() + of_.all.command_shells_->living().size() : 0;
    row["jobs"] = of_.all.background->running().size();
    std::size_t sessions = 0;
    for (const auto& [principal, count] : known.sessions) sessions += count;
    row["sessions"] = sessions;
    row["connections"] = known.connections;
    std::uint64_t memory = resident_bytes();
    for (const auto& [id, cell] : live) memory += cell.memory;
    row["memory_bytes"] = memory;
    row["load"] = load_averages();
    return row;
}

// A limit of 0 is none; but of runs every caller leaves a place to others, and 0 machines are none.
json::object administration::limits_of(const std::string& principal)
{
    json::object row;
    const auto& own = of_.all.limits->whole(principal);
    for (const auto& each : limit_names()) {
        auto most = own.*each.member;
        if (most == 0 && each.member == &principal_limits::runs)
            most = std::max<std::size_t>(2, of_.all.admission->most()) - 1;
        const bool is_any = most == 0 && each.member != &principal_limits::machines;
        row[each.name] = is_any ? json::value() : json::value(most);
    }
    return row;
}

void administration::add_limits(json::object& row)
{
    const std::string principal(row["principal"].as_string());
    row["limits"] = limits_of(principal);
    const auto left = of_.all.limits->calls_left(principal);
    row["calls_left"] = left ? json::value(*left) : json::value();
}

json::object administration::own_usage(const std::string& principal)
{
    auto rows = rows_of_usage({principal, false}, {});
    auto row = rows.empty() ? empty_row(principal) : std::move(rows.begin()->second);
    for (const auto* name : {"sessions", "default_sandboxes"}) row.erase(name);
    add_limits(row);
    return row;
}

// Those with most calls come first, where there are many.
awaitable<json::object> administration::usage(admin_viewer by, admin_connections known)
{
    const auto live = co_await live_cells();
    auto by_name = rows_of_usage(by, known);
    std::vector<json::object> rows;
    for (auto& [name, row] : by_name) rows.push_back(std::move(row));
    const auto calls = [](const json::object& row) { return row.at("calls").to_number<std::uint64_t>(); };
    std::ranges::stable_sort(rows, std::ranges::greater(), calls);
    if (rows.size() > most_principals) rows.resize(most_principals);
    for (auto& row : rows) add_limits(row);
    json::object answer;
    answer["machine"] = by.everything ? machine(known, live) : json::object{{"max_runs", of_.all.admission->most()}};
    answer["principals"] = json::array(rows.begin(), rows.end());
    co_return answer;
}

}  // namespace cmcp
