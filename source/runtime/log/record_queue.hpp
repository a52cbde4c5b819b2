#pragma once

#include "jsonrpc/json.hpp"
#include "log/log.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::log {

/// An event of the log as its fields, for an exporter.
struct record {
    std::chrono::system_clock::time_point when;
    level severity = level::info;
    std::string event;
    std::vector<std::pair<std::string, json::value>> attributes;
    std::string trace;  ///< 32 hex digits; empty: the event belongs to no trace
    std::string span;   ///< 16 hex digits; empty: to no span
};

/// Events that wait for their export. The queue is off until an exporter opens it; a slow exporter loses the oldest.
/// Any thread may add.
class record_queue {
public:
    void open() { open_ = true; }
    void close();
    bool is_open() const { return open_.load(std::memory_order_relaxed); }

    /// The fields `trace` and `span` become the record's own.
    void add(std::chrono::system_clock::time_point when, level severity, std::string_view event, const fields& with);

    std::vector<record> take(std::size_t most);
    std::size_t size() const;
    std::uint64_t dropped() const;

private:
    mutable std::mutex mutex_;
    std::deque<record> waiting_;
    std::uint64_t dropped_ = 0;
    std::atomic<bool> open_{false};
};

record_queue& records();  ///< of this process

}  // namespace cmcp::log
