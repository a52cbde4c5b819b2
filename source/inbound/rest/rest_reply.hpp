#pragma once

#include "http/http_reply.hpp"
#include "jsonrpc/json.hpp"

#include <string_view>

namespace cmcp {

/// The result object of a tools/call result: structuredContent, or the text of a result without it. Image content that
/// has no link in `file_links` comes along as `images`: [{data (base64), mimeType}].
json::object rest_object(json::object result);

/// The answer to a call: the result object, in a refusal (nothing ran) with `error_type`, by which it has its status,
/// and `request_id`.
http_reply rest_reply(json::object result, std::string_view request_id);

}  // namespace cmcp
