#pragma once

#include "mcp/caller.hpp"
#include "mcp/tool.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cmcp {

/// How much a result may say. Sizes are bytes of JSON without images.
struct result_limits {
    std::size_t usual = 24 << 10;
    std::size_t most = 1 << 20;  ///< that a call may ask for
};

/// Keeps texts for their callers, who read them by file_read and resources/read.
class result_keeper {
public:
    virtual ~result_keeper() = default;

    /// The path in the sandbox that the caller means without naming one; empty: it could not be stored.
    virtual awaitable<std::string> keep(caller who, std::string text) = 0;
};

bool takes_max_output(const json::object& input_schema);

/// The most that the result of a call may say: `max_output` of any tool, or the tool's own argument
/// (tool_definition::size_argument), asks for less or more. Takes a `max_output` out that the schema does not have.
std::size_t result_limit_of(const tool_definition& tool, json::object& arguments, const result_limits& limits);

/// The part of a result that `limit` bytes have no room for: to be stored before the result is shortened.
struct result_rest {
    bool needed = false;   ///< the result is too long
    std::string text;      ///< to keep; empty: the result names a file that has it
    std::string member;    ///< the one text that is too long; empty: it is the result as a whole
    std::size_t size = 0;  ///< of the text, which may have been given away
};

result_rest rest_of(const tool_result& result, std::size_t limit);

/// Shortens texts to their heads and tails and lists to their beginnings, the largest first, until the result fits.
/// `path`: where the rest is; empty: it was not stored.
void shorten(tool_result& result, std::size_t limit, const result_rest& rest, const std::string& path);

}  // namespace cmcp
