#include "mcp/message_sink.hpp"

#include "jsonrpc/message.hpp"

#include <utility>

namespace cmcp {

void outgoing::serialize()
{
    if (!text.empty()) return;
    if (what == kind::notification)
        text = jsonrpc::encode_notification(method, params);
    else if (what == kind::request)
        text = jsonrpc::encode_request(id, method, params);
    else
        text = error ? jsonrpc::encode_error(id, *error) : jsonrpc::encode_result(id, result);
    params = {};
    result = {};
}

std::string outgoing::take_text()
{
    serialize();
    return std::move(text);
}

}  // namespace cmcp
