#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cmcp::load {

/// The parts of a JSON-RPC message that a load test needs. The reader makes one pass and builds no tree, because the
/// measuring client must cost less than the server. The views are raw JSON and end with the message.
struct message_skim {
    bool valid = false;              ///< one JSON object
    std::optional<std::int64_t> id;  ///< when it is an integer, as ours are
    std::string_view method;         ///< of a notification or request
    std::string_view params;
    std::string_view result;
    std::string_view error;
    std::optional<int> error_code;
    bool tool_error = false;  ///< result.isError is true
};

message_skim skim_message(std::string_view text);

/// The content of a progress notification. A notification without `message` is a heartbeat and has no output.
struct progress_skim {
    bool output = false;
    bool stderr_stream = false;           ///< _meta["container-mcp/stream"] is "stderr"
    std::optional<std::uint64_t> offset;  ///< _meta["container-mcp/offset"]
    std::uint64_t bytes = 0;
};

progress_skim skim_progress(std::string_view params);

/// True when a tool's result reports a failed run: its `exit_code` is not 0, or its `success` is false. The members are
/// in structuredContent, or in the first text where a revision has no structuredContent. A failed run is no tool error.
bool tells_of_failed_run(std::string_view result);

/// The revision that an answer to initialize names; empty when it names none.
std::string_view agreed_revision(std::string_view result);

}  // namespace cmcp::load
