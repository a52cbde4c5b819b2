#pragma once

#include "jsonrpc/json.hpp"
#include "metrics/span_queue.hpp"

#include <string>
#include <vector>

namespace cmcp {

/// The body of an OTLP/HTTP request in JSON (OpenTelemetry Protocol 1.x, ExportTraceServiceRequest): ids in hex, times
/// as text in nanoseconds since 1970. Every span gets an id of its own, and one without a parent a trace of its own.
json::object otlp_message(const std::string& service, const std::vector<metrics::span>& spans);

}  // namespace cmcp
