#include "jsonrpc/read_object.hpp"

namespace cmcp::jsonrpc {

json::object read_object(std::string_view text)
{
    json::parse_options limits;
    limits.max_depth = 256;
    json::error_code failure;
    json::value parsed = json::parse(text, failure, {}, limits);
    return !failure && parsed.is_object() ? std::move(parsed.as_object()) : json::object();
}

}  // namespace cmcp::jsonrpc
