#include "test/support/catch.hpp"

#include "jsonrpc/json_size.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/write_json.hpp"
#include "test/support/doubling.hpp"
#include "text/utf8_text.hpp"

#include <limits>
#include <string>
#include <vector>

using namespace cmcp;
using namespace cmcp::jsonrpc;
using namespace cmcp::test;

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

TEST_CASE("the size of a value is that of its text, or little more")
{
    const std::vector<std::string> texts{"",
                                         "plain",
                                         "with \"quotes\" and \\ and \n lines",
                                         "\x01\x1f\x7f",
                                         "h\xc3\xa9llo \xe2\x82\xac",
                                         std::string(1000, 'x') + "\n" + std::string(1000, 'y'),
                                         std::string("\0a", 2)};
    for (const auto& text : texts) {
        CAPTURE(text);
        const auto written = jsonrpc::write_json(std::string_view(text)).size();
        CHECK(jsonrpc::json_size(text) >= written);
        CHECK(jsonrpc::json_size(text) <= 6 * text.size() + 2);
    }
    const std::string broken =
        "a\xff"
        "b";
    CHECK(jsonrpc::json_size(broken) >= jsonrpc::write_json(std::string_view(broken)).size());
}

TEST_CASE("whether a value is large is known without looking at all of it")
{
    json::object small{{"a", 1}, {"b", "text"}};
    CHECK_FALSE(jsonrpc::is_larger(small, 1000));
    CHECK(jsonrpc::is_larger(json::object{{"a", std::string(2000, 'x')}}, 1000));
    json::array many;
    many.resize(100'000);
    CHECK(jsonrpc::is_larger(many, 1000));
    CHECK(jsonrpc::is_larger(json::object{{"a", json::array{many}}}, 1000));
    CHECK_FALSE(jsonrpc::is_larger(json::array(), 0));
}

TEST_CASE("values are measured and written in time linear in them")
{
    for (const std::string piece : {"a", "\n", "\xc3\xa9", "\xff", "\"x"}) {
        CAPTURE(piece);
        const auto value = [&piece](std::size_t size) {
            std::string text;
            while (text.size() < size) text += piece;
            json::array list;
            for (std::size_t i = 0; i < size / 100; ++i) list.push_back(json::object{{"n", i}, {"t", piece}});
            return json::object{{"text", text}, {"list", list}};
        };
        const auto work = [](const json::object& of) {
            jsonrpc::json_size(of);
            jsonrpc::write_json(of);
        };
        CHECK(growth(value, work, 1'000'000) < linear_growth);
    }
}
