#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"
#include "mcp/prompt.hpp"
#include "mcp/revision.hpp"
#include "mcp/tool.hpp"

#include <optional>
#include <string_view>

namespace cmcp {

/// How results are written (MCP_RESULT_FORMAT).
enum class result_format {
    automatic,  ///< text and object; JSON as text for revisions without structuredContent; text alone where the client
                ///< is known to show a model the object in place of the text
    text,       ///< text alone
    json        ///< the object as JSON in the first block of content, and as structuredContent
};

/// Nothing where the word is none of the setting's.
std::optional<result_format> parse_result_format(std::string_view word);

/// Whether a client is answered in another way than most because of its name: no cache may keep its list of tools for
/// others.
bool formatted_for_client(const caller& who, result_format format);

/// Whether a client gets text alone: no object, and no output schemas.
bool takes_text_alone(const caller& who, result_format format);

/// The reader of a result: a model behind a client, or a program, which wants the object in any case.
enum class result_reader { model, program };

/// Objects as one revision knows them: a member that came later is left out, for clients that are strict.
json::object describe_tool(const tool_definition& definition, const caller& who, result_format format);

/// Several clients show a model nothing but structuredContent where there is any, so a result with images has none.
json::object describe_tool_result(tool_result result, const caller& who, result_format format,
                                  result_reader reader = result_reader::model);
json::object describe_prompt(json::object definition, revision protocol);
json::array describe_resources(json::array resources, revision protocol);
json::object describe_prompt_result(json::object result, revision protocol);

}  // namespace cmcp
