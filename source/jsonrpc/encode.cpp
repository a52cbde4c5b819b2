#include "jsonrpc/message.hpp"
#include "jsonrpc/sanitize.hpp"

namespace cmcp::jsonrpc {

namespace {

std::string text_of(const json::value& value)
{
    return is_clean(value) ? json::serialize(value) : json::serialize(cleaned(value));
}

std::string text_of(std::string_view text) { return text_of(json::value(json::string(text))); }

std::string text_of(const json::object& object)
{
    for (const auto& member : object)
        if (!is_utf8({member.key().data(), member.key().size()}) || !is_clean(member.value()))
            return json::serialize(cleaned(json::value(object)));
    return json::serialize(object);
}

// Put together as text: a large result is not copied into an envelope first.
std::string head(const json::value& id) { return R"({"jsonrpc":"2.0","id":)" + text_of(id); }

std::string method_and_params(std::string_view method, const json::object& params)
{
    std::string text = R"("method":)" + text_of(method);
    if (!params.empty()) text += R"(,"params":)" + text_of(params);
    return text + "}";
}

}  // namespace

std::string encode_result(const json::value& id, const json::value& result)
{
    return head(id) + R"(,"result":)" + text_of(result) + "}";
}

std::string encode_error(const json::value& id, const rpc_error& error)
{
    json::object body;
    body["code"] = error.code;
    body["message"] = error.what();
    if (error.data) body["data"] = *error.data;
    return head(id) + R"(,"error":)" + text_of(body) + "}";
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
