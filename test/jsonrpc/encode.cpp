#include "test/support/catch.hpp"

#include "jsonrpc/message.hpp"
#include "text/utf8_text.hpp"

#include <limits>

using namespace cmcp;
using namespace cmcp::jsonrpc;

TEST_CASE("what is encoded can be decoded")
{
    json::object params;
    params["text"] = "line\nline \"quoted\" \xc3\xa4";
    const auto text = encode_request(3, "m", params);
    CHECK(text.find('\n') == std::string::npos);
    const auto message = std::get<request>(decode(text, {}).messages.at(0));
    CHECK(message.id == json::value(3));
    CHECK(message.params == params);
}

TEST_CASE("a result keeps its id and an error its data")
{
    CHECK(encode_result("a", json::object()) == R"({"jsonrpc":"2.0","id":"a","result":{}})");
    const rpc_error error(rpc_code::invalid_params, "no \"such\" thing", json::value("x"));
    CHECK(encode_error(nullptr, error) ==
          R"({"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no \"such\" thing","data":"x"}})");
}

TEST_CASE("bytes that are not UTF-8 become replacement characters")
{
    json::object result;
    result["a\xff"] = json::string("x\xc3(\xf0\x9f\x98\x80\xed\xa0\x80");
    const auto text = encode_result(1, result);
    CHECK(is_utf8(text));
    CHECK(text.find("\xf0\x9f\x98\x80") != std::string::npos);
    CHECK(decode(text, {}).messages.size() == 1);
}

TEST_CASE("numbers without a JSON form become null")
{
    json::object params;
    params["a"] = std::numeric_limits<double>::quiet_NaN();
    params["b"] = json::array{std::numeric_limits<double>::infinity(), 1};
    CHECK(encode_notification("n", params) == R"({"jsonrpc":"2.0","method":"n","params":{"a":null,"b":[null,1]}})");
}

TEST_CASE("UTF-8 is recognized at its edges")
{
    for (const char* good : {"", "a", "\x7f", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xef\xbf\xbf",
                             "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "12345678\xc3\xa4"})
        CHECK(is_utf8(good));
    for (const char* bad : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                            "\xf5", "\xc3", "\xe2\x82", "1234567\xc3"})
        CHECK_FALSE(is_utf8(bad));
}
