#pragma once

#include "mcp/caller.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/request_io.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace cmcp {

class running_request;

/// The state that the server keeps between the requests of one client of the older revisions (up to 2025-11-25): made
/// by the transport when a client connects or initializes, dropped by it at the end. Not used by 2026-07-28.
struct session {
    caller who;
    bool initialized = false;  ///< initialize has been answered
    log_severity log_threshold = log_severity::info;
    std::map<std::string, std::shared_ptr<void>> subscribed;  ///< observers of resources, by their URIs

    /// Where messages go that belong to no request: the GET stream, the SSE stream, standard output.
    std::shared_ptr<message_sink> general;

    /// Called when something has changed that server_core::state_of() tells; null: nobody keeps it.
    std::function<void()> on_change;

    std::vector<running_request*> in_flight;  ///< requests that run

    /// Our requests to the client that wait for their answer, by our id: called once with the whole response.
    std::unordered_map<std::int64_t, std::function<void(const json::object* result, const json::object* error)>>
        open_requests;
    std::int64_t next_request_id = 1;

    std::chrono::steady_clock::time_point last_used = std::chrono::steady_clock::now();

    /// Cancels every request in flight.
    void cancel_all();
};

}  // namespace cmcp
