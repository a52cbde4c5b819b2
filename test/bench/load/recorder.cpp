#include "load/recorder.hpp"

namespace cmcp::load {

void call_figures::merge(const call_figures& other)
{
    started += other.started;
    succeeded += other.succeeded;
    errors.merge(other.errors);
    latency.merge(other.latency);
    service.merge(other.service);
    first_progress.merge(other.first_progress);
    gap.merge(other.gap);
    progress += other.progress;
    heartbeats += other.heartbeats;
    output_bytes += other.output_bytes;
    output_gaps += other.output_gaps;
}

void server_figures::count(const failure& error, std::int64_t latency_ns)
{
    if (!error.kind.empty()) return errors.add(error);
    ++succeeded;
    latency.record(latency_ns);
}

void server_figures::forget_calls()
{
    succeeded = in_time = 0;
    errors.clear();
    latency.clear();
}

void recorder::count_at(std::size_t address, const std::string& name, const failure& error, std::int64_t latency_ns)
{
    constexpr std::size_t most_names = 100;
    by_address[address].count(error, latency_ns);
    if (name.empty() || (by_name.size() == most_names && !by_name.contains(name))) return;
    by_name[name].count(error, latency_ns);
}

std::uint64_t recorder::mark_in_time()
{
    for (auto& each : by_address) each.in_time = each.succeeded;
    for (auto& [name, each] : by_name) each.in_time = each.succeeded;
    return all().succeeded;
}

void recorder::forget_calls()
{
    for (auto& each : calls) each = {};
    for (auto& each : by_address) each.forget_calls();
    by_name.clear();
    slow = {};
    recent = {};
    health.clear();
    health_errors.clear();
    bytes_in = bytes_out = 0;
}

call_figures recorder::all() const
{
    call_figures sum;
    for (const auto& each : calls) sum.merge(each);
    return sum;
}

}  // namespace cmcp::load
