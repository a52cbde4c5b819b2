#include "app/administration.hpp"
#include "async/with_deadline.hpp"
#include "config/settings.hpp"
#include "metrics/registry.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

// The part of administration that sets figures for Prometheus.
namespace cmcp {

namespace {

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
