#include "upstream/call_result.hpp"

#include "jsonrpc/read_object.hpp"
#include "upstream/upstream_problem.hpp"
#include "upstream/upstream_text.hpp"

#include <algorithm>
#include <string>

namespace cmcp {

namespace {

bool is_block(const json::value& block)
{
    const auto* object = block.if_object();
    if (object == nullptr) return false;
    const auto type = view_of(*object, "type");
    const auto has_text = [object](std::string_view name) {
        const auto* member = object->if_contains(name);
        return member != nullptr && member->is_string();
    };
    if (type == "text") return has_text("text");
    if (type == "image" || type == "audio") return has_text("data") && has_text("mimeType");
    if (type == "resource_link") return has_text("uri");
    if (type == "resource") return !object_of(*object, "resource").empty();
    return false;
}

void refuse_unless(bool good, const std::string& wrong)
{
    if (!good) throw upstream_problem("answered the call with " + wrong);
}

}  // namespace

json::object checked_call_result(json::object result)
{
    const auto type = view_of(result, "resultType");
    refuse_unless(type.empty() || type == "complete",
                  "\"" + shown_line(type, 40) + "\" in place of a result: this server answers no questions");
    const auto* content = result.if_contains("content");
    refuse_unless(content != nullptr && content->is_array(), "no result of a tool: it has no list `content`");
    refuse_unless(std::ranges::all_of(content->get_array(), is_block),
                  "no result of a tool: a part of `content` is none of text, image, audio, resource and resource_link");
    const auto* structured = result.if_contains("structuredContent");
    refuse_unless(structured == nullptr || structured->is_structured(),
                  "no result of a tool: `structuredContent` is neither an object nor a list");
    const auto* is_error = result.if_contains("isError");
    refuse_unless(is_error == nullptr || is_error->is_bool(),
                  "no result of a tool: `isError` is neither true nor false");
    result.erase("resultType");
    return result;
}

}  // namespace cmcp
