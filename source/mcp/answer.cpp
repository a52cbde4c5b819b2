#include "mcp/answer.hpp"

#include "jsonrpc/message.hpp"

namespace cmcp {

awaitable<> send_answer(std::shared_ptr<message_sink> reply, json::value id, outcome done)
{
    outgoing message;
    message.what = outgoing::kind::response;
    if (done.error) {
        message.text = jsonrpc::encode_error(id, *done.error);
        message.error_code = done.error->code;
    } else {
        message.text = jsonrpc::encode_result(id, done.result ? *done.result : json::object());
    }
    done = {};
    co_await reply->send(std::move(message));
}

}  // namespace cmcp
