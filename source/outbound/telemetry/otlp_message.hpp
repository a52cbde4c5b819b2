#pragma once

#include "jsonrpc/json.hpp"
#include "log/record_queue.hpp"
#include "metrics/span_queue.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// Attributes of the process that spans and log records come from, such as service.name.
using otlp_resource = std::vector<std::pair<std::string, std::string>>;

// The bodies of OTLP/HTTP requests in JSON (OpenTelemetry Protocol 1.x): ids in hex, times as text in nanoseconds since
// 1970.

/// ExportTraceServiceRequest. A span without ids gets some, and one without a parent a trace of its own.
json::object otlp_traces(const otlp_resource& resource, const std::vector<metrics::span>& spans);

/// ExportLogsServiceRequest. The event is the record's body and name, its fields are attributes.
json::object otlp_logs(const otlp_resource& resource, const std::vector<log::record>& records);

}  // namespace cmcp
