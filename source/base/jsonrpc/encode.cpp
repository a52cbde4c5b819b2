#include "jsonrpc/message.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp::jsonrpc {

namespace {

// Put together as text: a large result is not copied into an envelope first.
void append_head(std::string& out, const json::value& id)
{
    out += R"({"jsonrpc":"2.0","id":)";
    append_json(out, id);
}

void append_method(std::string& out, std::string_view method, const json::object& params)
{
    out += R"("method":)";
    append_json(out, method);
    if (!params.empty()) {
        out += R"(,"params":)";
        append_json(out, params);
    }
    out += '}';
}

}  // namespace

std::string encode_result(const json::value& id, const json::object& result)
{
    return put_together([&](std::string& out) {
        append_head(out, id);
        out += R"(,"result":)";
        append_json(out, result);
        out += '}';
    });
}

std::string encode_error(const json::value& id, const rpc_error& error)
{
    json::object body;
    body["code"] = error.code;
    body["message"] = error.what();
    if (error.data) body["data"] = *error.data;
    return put_together([&](std::string& out) {
        append_head(out, id);
        out += R"(,"error":)";
        append_json(out, body);
        out += '}';
    });
}

std::string encode_request(const json::value& id, std::string_view method, const json::object& params)
{
    return put_together([&](std::string& out) {
        append_head(out, id);
        out += ',';
        append_method(out, method, params);
    });
}

std::string encode_notification(std::string_view method, const json::object& params)
{
    return put_together([&](std::string& out) {
        out += R"({"jsonrpc":"2.0",)";
        append_method(out, method, params);
    });
}

}  // namespace cmcp::jsonrpc
