#pragma once

#include "http/http_reply.hpp"
#include "jsonrpc/json.hpp"

#include <string_view>

namespace cmcp {

/// The result object of a tools/call result: structuredContent, or the text of a result without it. Image content that
/// has no link in `file_links` comes along as `images`: [{data (base64), mimeType}].
json::object rest_object(const json::object& result);

/// 200, or the status of a refusal (nothing ran): by its `error_type`.
int rest_status(const json::object& result, const json::object& object);

/// The answer to a call: the result object, in a refusal with `error_type` and `request_id`.
http_reply rest_reply(const json::object& result, std::string_view request_id);

}  // namespace cmcp
