#pragma once

#include "metrics/trace_context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::metrics {

/// A piece of work of the server, in the terms of OpenTelemetry.
struct span {
    std::string name;
    trace_parent parent;  ///< empty: the span begins a trace of its own
    std::string trace;    ///< 32 hex digits: the parent's, or a new one
    std::string id;       ///< 16 hex digits
    std::chrono::system_clock::time_point began;
    std::chrono::nanoseconds took{0};
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string error;  ///< the failure in a word; empty: none
};

/// Spans that wait for their export. The queue is off until an exporter opens it; a slow exporter loses the oldest.
/// For the io thread alone.
class span_queue {
public:
    void open() { open_ = true; }
    void close();

    /// Whether a span of this parent is wanted. A caller that does not sample its trace wants no span of ours either.
    bool wants(const trace_parent& parent) const { return open_ && parent.sampled; }
    void add(span ended);

    std::vector<span> take(std::size_t most);
    std::size_t size() const { return waiting_.size(); }
    std::uint64_t dropped() const { return dropped_; }

private:
    std::deque<span> waiting_;
    std::uint64_t dropped_ = 0;
    bool open_ = false;
};

span_queue& spans();  ///< of this process

}  // namespace cmcp::metrics
