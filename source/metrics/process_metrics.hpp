#pragma once

namespace cmcp::metrics {

/// The figures that every program has, under the names that dashboards expect (process_cpu_seconds_total, …).
void observe_process();

}  // namespace cmcp::metrics
