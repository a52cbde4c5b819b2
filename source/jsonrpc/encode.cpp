#include "jsonrpc/message.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp::jsonrpc {

namespace {

// Put together as text: a large result is not copied into an envelope first.
std::string head(const json::value& id) { return R"({"jsonrpc":"2.0","id":)" + write_json(id); }

std::string method_and_params(std::string_view method, const json::object& params)
{
    std::string text = R"("method":)" + write_json(method);
    if (!params.empty()) text += R"(,"params":)" + write_json(params);
    return text + "}";
}

}  // namespace

std::string encode_result(const json::value& id, const json::value& result)
{
    return head(id) + R"(,"result":)" + write_json(result) + "}";
}

std::string encode_error(const json::value& id, const rpc_error& error)
{
    json::object body;
    body["code"] = error.code;
    body["message"] = error.what();
    if (error.data) body["data"] = *error.data;
    return head(id) + R"(,"error":)" + write_json(body) + "}";
}

std::string encode_request(const json::value& id, std::string_view method, const json::object& params)
{
    return head(id) + "," + method_and_params(method, params);
}

std::string encode_notification(std::string_view method, const json::object& params)
{
    return R"({"jsonrpc":"2.0",)" + method_and_params(method, params);
}

}  // namespace cmcp::jsonrpc
