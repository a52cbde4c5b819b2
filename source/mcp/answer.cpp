#include "mcp/answer.hpp"

#include "jsonrpc/message.hpp"

namespace cmcp {

outgoing answer_of(const json::value& id, const rpc_error& error)
{
    outgoing message;
    message.what = outgoing::kind::response;
    message.text = jsonrpc::encode_error(id, error);
    message.error_code = error.code;
    return message;
}

outgoing answer_of(const json::value& id, const outcome& done)
{
    if (done.error) return answer_of(id, *done.error);
    outgoing message;
    message.what = outgoing::kind::response;
    static const json::object nothing;
    const auto& result = done.result ? *done.result : nothing;
    message.text = jsonrpc::encode_result(id, result);
    return message;
}

}  // namespace cmcp
