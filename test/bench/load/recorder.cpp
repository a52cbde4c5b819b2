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

void recorder::forget_calls()
{
    for (auto& each : calls) each = {};
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
