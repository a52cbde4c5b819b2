#pragma once

#include "jsonrpc/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

struct tool_result;

/// The facts that the log and the spans tell of a tool call: read from its arguments and its result, the same way for
/// every tool. Holds no argument but the sandbox, and no content.
struct call_facts {
    std::string sandbox;  ///< id or name, as the call named it or its result does; empty: none
    std::string job;      ///< id of a job that it began or asked about
    std::string cause;    ///< why its run ended; empty: it was none
    std::string error_type;
    std::optional<std::int64_t> exit_code;
    std::uint64_t bytes = 0;  ///< of the content that is sent
    bool failed = false;      ///< the result is an error of the tool
    bool refused = false;     ///< its arguments were not accepted, the tool was not called

    void note_arguments(const json::object& arguments);
    void note_result(const tool_result& result);

    /// Bytes of `content` of a result as it is sent.
    static std::size_t bytes_in(const json::object& described);

    /// How the call ended, in a word, where it ended with a result.
    std::string_view ending() const;
};

}  // namespace cmcp
