// Any text is either refused with an rpc_error or decoded into messages that can be written again.
#include "jsonrpc/message.hpp"
#include "text/utf8_text.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace cmcp;

std::string written(const jsonrpc::response& response)
{
    return response.result.is_object() ? jsonrpc::encode_result(1, response.result.as_object())
                                       : jsonrpc::encode_result(1, {{"result", response.result}});
}

void write_again(const jsonrpc::message& message)
{
    std::string text;
    if (const auto* request = std::get_if<jsonrpc::request>(&message))
        text = jsonrpc::encode_request(request->id, request->method, request->params);
    else if (const auto* notification = std::get_if<jsonrpc::notification>(&message))
        text = jsonrpc::encode_notification(notification->method, notification->params);
    else
        text = written(std::get<jsonrpc::response>(message));
    if (!cmcp::is_utf8(text) || text.find('\n') != std::string::npos) std::abort();
    jsonrpc::decode(text, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    try {
        const auto decoded = jsonrpc::decode({reinterpret_cast<const char*>(data), size}, {});
        for (const auto& message : decoded.messages) write_again(message);
    } catch (const jsonrpc::decode_error& refused) {
        if (!cmcp::is_utf8(jsonrpc::encode_error(refused.id, refused))) std::abort();
    }
    return 0;
}
