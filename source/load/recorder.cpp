#include "load/recorder.hpp"

namespace cmcp::load {

std::uint64_t call_figures::failed() const
{
    std::uint64_t sum = 0;
    for (const auto& [kind, number] : errors) sum += number;
    return sum;
}

void call_figures::merge(const call_figures& other)
{
    started += other.started;
    succeeded += other.succeeded;
    for (const auto& [kind, number] : other.errors) errors[kind] += number;
    latency.merge(other.latency);
    service.merge(other.service);
    first_progress.merge(other.first_progress);
    gap.merge(other.gap);
    progress += other.progress;
}

void recorder::forget_calls()
{
    for (auto& each : calls) each = {};
    slow = {};
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
