#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cmcp::load {

/// What a load test must know of a JSON-RPC message, found in one pass without building a tree: measuring a server
/// takes less of the machine than serving does.
struct message_skim {
    bool valid = false;                     ///< one JSON object
    std::optional<std::int64_t> id;         ///< when it is an integer, as ours are
    std::string_view method;                ///< raw, of a notification or request
    std::optional<int> error_code;
    bool has_result = false;
    bool tool_error = false;                ///< result.isError is true
};

message_skim skim_message(std::string_view text);

}  // namespace cmcp::load
