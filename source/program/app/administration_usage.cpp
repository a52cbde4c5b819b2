#include "app/administration.hpp"
#include "async/with_deadline.hpp"
#include "config/settings.hpp"
#include "metrics/registry.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <unistd.h>

// The part of administration that counts, and sets figures for Prometheus.

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

constexpr auto time_for_launcher = std::chrono::seconds(1);

void set_gauge(const char* name, const char* help, std::size_t value)
{
    metrics::all().gauges(name, help).at().set(static_cast<double>(value));
}

/// A figure of each principal, and the member of its row that has it.
struct principal_figure {
    const char* member;
    const char* name;
    const char* help;
};

constexpr std::array principal_counts{
    principal_figure{"calls", "cmcp_principal_calls_total", "Tool calls by principal."},
    principal_figure{"calls_failed", "cmcp_principal_calls_failed_total", "Tool calls that failed, by principal."},
    principal_figure{"cpu_seconds", "cmcp_principal_cpu_seconds_total", "Processor time of runs by principal."}};

constexpr std::array principal_levels{
    principal_figure{"runs", "cmcp_principal_runs", "Runs that have a place, by principal."},
    principal_figure{"runs_waiting", "cmcp_principal_runs_waiting", "Runs that wait for a slot, by principal."},
    principal_figure{"sandboxes", "cmcp_principal_sandboxes", "Sandboxes by principal, without default ones."},
    principal_figure{"disk_bytes", "cmcp_principal_disk_bytes", "Bytes of sandboxes' files by principal."},
    principal_figure{"kernels", "cmcp_principal_kernels", "Python kernels that live, by principal."},
    principal_figure{"shells", "cmcp_principal_shells", "Shells that live, by principal."},
    principal_figure{"jobs", "cmcp_principal_jobs", "Jobs and tasks that run or wait, by principal."},
    principal_figure{"sessions", "cmcp_principal_sessions", "Sessions by principal."}};

constexpr std::size_t most_labels = 50;  // of principals: each has its own series

using totals_by_label = std::map<std::string, double>;
using rows_by_label = std::map<std::string, std::vector<const json::object*>>;

totals_by_label sums(const rows_by_label& rows, const char* member)
{
    totals_by_label totals;
    for (const auto& [label, group] : rows)
        for (const auto* row : group) totals[label] += row->at(member).to_number<double>();
    return totals;
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

// Of this process and of all sandboxes.
std::uint64_t administration::memory_of(const cells& live)
{
    std::uint64_t memory = resident_bytes();
    for (const auto& [id, cell] : live) memory += cell.memory;
    return memory;
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
    row["memory_bytes"] = memory_of(live);
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

// A label is given once and for all, because a count must not go back. The nameless caller is `default`.
std::string administration::label_of(const std::string& principal)
{
    auto name = principal.empty() ? std::string("default") : principal;
    if (labels_.contains(name)) return name;
    if (labels_.size() >= most_labels) return "other";
    labels_.insert(name);
    return name;
}

void administration::set_principal_figures(const admin_connections& known)
{
    const admin_viewer everybody{{}, true};
    const auto by_name = rows_of_usage(everybody, known);
    rows_by_label rows;
    for (const auto& [name, row] : by_name) rows[label_of(name)].push_back(&row);
    for (const auto& each : principal_counts) {
        auto& family = metrics::all().counters(each.name, each.help, {"principal"});
        for (const auto& [label, total] : sums(rows, each.member)) family.at({label}).set(total);
    }
    for (const auto& each : principal_levels) {
        auto& family = metrics::all().gauges(each.name, each.help, {"principal"});
        family.clear();
        for (const auto& [label, total] : sums(rows, each.member)) family.at({label}).set(total);
    }
}

void administration::set_sandbox_figures()
{
    if (!of_.all.kernels) return;
    std::uint64_t count = 0, disk = 0;
    for (const auto& each : of_.all.sandboxes->store().totals()) {
        count += each.count + each.defaults;
        disk += each.disk;
    }
    set_gauge("cmcp_sandboxes", "Sandboxes that are kept, with default ones.", count);
    set_gauge("cmcp_sandbox_disk_bytes", "Bytes of sandboxes' files, as last measured, without snapshots.", disk);
    const auto kernels = of_.all.kernels->list();
    const auto busy = std::ranges::count(kernels, true, &kernel_manager::view::busy);
    set_gauge("cmcp_kernels", "Python kernels that live.", kernels.size());
    set_gauge("cmcp_kernels_busy", "Python kernels that run code.", static_cast<std::size_t>(busy));
    set_gauge("cmcp_shells", "Shells that live.", of_.all.shells->living() + of_.all.command_shells_->living().size());
}

void administration::set_job_figures()
{
    auto& jobs = metrics::all().gauges("cmcp_jobs", "Jobs and tasks that have not ended, by state.", {"kind", "state"});
    jobs.clear();
    for (const char* kind : {"job", "task"})
        for (const char* state : {"running", "queued"}) jobs.at({kind, state});
    for (const auto& each : of_.all.background->running()) {
        const auto& record = each->record();
        jobs.at({record.kind(), record.state}).add(1);
    }
}

// A launcher that does not answer is told by /healthz; the figures of live sandboxes stay as they were.
awaitable<> administration::update_figures(admin_connections known)
{
    set_sandbox_figures();
    set_job_figures();
    set_principal_figures(known);
    try {
        auto asking = live_cells();
        const auto live = co_await with_deadline(std::move(asking), time_for_launcher);
        std::uint64_t memory = 0;
        for (const auto& [id, cell] : live) memory += cell.memory;
        set_gauge("cmcp_sandboxes_live", "Sandboxes with processes.", live.size());
        set_gauge("cmcp_sandbox_memory_bytes", "Memory of live sandboxes.", memory);
    } catch (const deadline_exceeded&) {
    }
}

}  // namespace cmcp
