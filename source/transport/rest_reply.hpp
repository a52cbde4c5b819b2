#pragma once

#include "http/http_reply.hpp"
#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp {

/// {"error": sentence} with the status.
http_reply rest_error(int status, const std::string& sentence);

/// The result object of a tools/call result: structuredContent, or its text where it has none. Image content that has no
/// link in `file_links` comes along as `images`: [{data (base64), mimeType}].
json::object rest_object(const json::object& result);

/// 200, or 4xx for a refusal (nothing ran): by its `error_type`.
int rest_status(const json::object& result, const json::object& object);

}  // namespace cmcp
