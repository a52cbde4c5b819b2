#include "test/support/catch.hpp"

#include "jsonrpc/message.hpp"

#include <chrono>

using namespace cmcp;
using namespace cmcp::jsonrpc;

namespace {

const decode_limits limits;

decode_error refusal(std::string_view text, const decode_limits& bounds = limits)
{
    try {
        decode(text, bounds);
    } catch (const decode_error& error) {
        return error;
    }
    throw std::logic_error("accepted: " + std::string(text));
}

bool mentions(const decode_error& error, std::string_view word)
{
    return std::string_view(error.what()).find(word) != std::string_view::npos;
}

std::string nested(std::size_t depth)
{
    return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
}

}  // namespace

TEST_CASE("a request is decoded with its id, method and params")
{
    const auto decoded = decode(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}})", limits);
    REQUIRE(decoded.messages.size() == 1);
    REQUIRE_FALSE(decoded.batch);
    const auto& message = std::get<request>(decoded.messages[0]);
    CHECK(message.id == json::value("a"));
    CHECK(message.method == "ping");
    CHECK(message.params.at("x").as_int64() == 1);
}

TEST_CASE("a message without id is a notification")
{
    const auto decoded = decode(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", limits);
    CHECK(std::get<notification>(decoded.messages[0]).params.empty());
}

TEST_CASE("responses keep their result or their error")
{
    const auto good = decode(R"({"jsonrpc":"2.0","id":7,"result":{"a":1}})", limits);
    CHECK(std::get<response>(good.messages[0]).result.as_object().at("a").as_int64() == 1);
    const auto bad = decode(R"({"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}})", limits);
    CHECK(std::get<response>(bad.messages[0]).error->at("message").as_string() == "no");
}

TEST_CASE("what is not JSON is a parse error")
{
    for (const char* text : {"", "{", "nonsense", "{\"jsonrpc\":\"2.0\",}", "{} {}", "\"\\ud800\"", "[1,]"})
        CHECK(refusal(text).code == rpc_code::parse_error);
}

TEST_CASE("text that is not UTF-8 is a parse error")
{
    CHECK(refusal("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").code == rpc_code::parse_error);
    CHECK(refusal("{\"jsonrpc\":\"2.0\",\"method\":\"\xc0\xaf\"}").code == rpc_code::parse_error);
}

TEST_CASE("numbers that are no number are refused")
{
    for (const char* value : {"NaN", "Infinity", "-Infinity", "1e400", "-1e400", "01", "1.", "0x10"}) {
        const auto text = std::string(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)") + value + "}}";
        CHECK(refusal(text).code == rpc_code::parse_error);
    }
}

TEST_CASE("nesting is limited")
{
    CHECK(decode(nested(limits.depth - 2), limits).messages.size() == 1);
    const auto error = refusal(nested(limits.depth));
    CHECK(error.code == rpc_code::parse_error);
    CHECK(mentions(error, "64 levels"));
    CHECK(refusal(std::string(5'000'000, '[')).code == rpc_code::parse_error);
}

TEST_CASE("a bad member is named, and the id is kept where it could be read")
{
    const auto version = refusal(R"({"jsonrpc":"1.0","id":5,"method":"m"})");
    CHECK(version.code == rpc_code::invalid_request);
    CHECK(mentions(version, "`jsonrpc`"));
    CHECK(version.id == json::value(5));

    const auto method = refusal(R"({"jsonrpc":"2.0","id":"x","method":5})");
    CHECK(mentions(method, "`method`"));
    CHECK(method.id == json::value("x"));

    const auto params = refusal(R"({"jsonrpc":"2.0","id":5,"method":"m","params":[1]})");
    CHECK(params.code == rpc_code::invalid_params);
    CHECK(mentions(params, "`params`"));

    for (const char* id : {"null", "1.5", "true", "[]", "{}"}) {
        const auto error = refusal(std::string(R"({"jsonrpc":"2.0","method":"m","id":)") + id + "}");
        CHECK(error.code == rpc_code::invalid_request);
        CHECK(mentions(error, "`id`"));
        CHECK(error.id.is_null());
    }
}

TEST_CASE("a message is an object")
{
    for (const char* text : {"1", "null", "\"a\""}) CHECK(refusal(text).code == rpc_code::invalid_request);
}

TEST_CASE("params that are empty are absent, whatever their kind")
{
    for (const char* empty : {"null", "[]", "\"\"", "{}"}) {
        const std::string members = std::string(R"("method":"m","params":)") + empty + "}";
        const auto as_request = decode(R"({"jsonrpc":"2.0","id":1,)" + members, limits);
        CHECK(std::get<request>(as_request.messages.at(0)).params.empty());
        const auto as_notification = decode(R"({"jsonrpc":"2.0",)" + members, limits);
        CHECK(std::get<notification>(as_notification.messages.at(0)).params.empty());
    }
    for (const char* wrong : {"[0]", "\"x\"", "5", "false"})
        CHECK(refusal(std::string(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)") + wrong + "}").code ==
              rpc_code::invalid_params);
}

TEST_CASE("an id is a whole number, however it is written")
{
    for (const char* id : {"12", "12.0", "1.2e1", "120e-1"}) {
        const auto decoded = decode(std::string(R"({"jsonrpc":"2.0","method":"m","id":)") + id + "}", limits);
        CHECK(encode_result(std::get<request>(decoded.messages.at(0)).id, {}) ==
              R"({"jsonrpc":"2.0","id":12,"result":{}})");
    }
    const auto answer = decode(R"({"jsonrpc":"2.0","id":3.0,"result":{}})", limits);
    CHECK(std::get<response>(answer.messages.at(0)).id == json::value(3));
}

TEST_CASE("a byte order mark in front of a message is read over, and nowhere else")
{
    const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})", mark = "\xef\xbb\xbf";
    CHECK(decode(mark + ping, limits).messages.size() == 1);
    CHECK(refusal(mark).code == rpc_code::parse_error);
    CHECK(refusal(mark + mark + ping).code == rpc_code::parse_error);
    CHECK(refusal(ping + mark).code == rpc_code::parse_error);
}

TEST_CASE("a request that cannot be parsed is refused under its id")
{
    const std::pair<const char*, const char*> cases[] = {
        {R"({"jsonrpc":"2.0","id":8,"method":"m","params":{"a":"\ud83d"}})", "8"},
        {R"({"jsonrpc":"2.0","method":"m","params":{"a":"\ude00 \" } ] \\"},"id":"q-7"})", "\"q-7\""},
        {R"({"params":{"id":1,"method":"x","a":["\ud83d"]},"id":2.0,"method":"m","jsonrpc":"2.0"})", "2"},
        {R"({"jsonrpc":"2.0","id":9,"method":"m","params":{"a":1e999}})", "9"},
        {R"({"jsonrpc":"2.0","id":9,"method":"m","params":{"a":"cut)", "9"},
        {R"({"jsonrpc":"2.0","id":9,"method":"m","params":{"a":nul}})", "9"},
        {R"({"jsonrpc":"2.0","id":5,"result":{"a":"\ud83d"}})", "null"},  // the id is one of this server's
        {R"({"jsonrpc":"2.0","id":[1],"method":"m","params":{"a":"\ud83d"}})", "null"},
        {R"({"jsonrpc":"2.0","id":1)", "null"},
        {R"({"id":1,"method" "m"})", "null"},
    };
    for (const auto& [text, id] : cases) {
        INFO(text);
        const auto error = refusal(text);
        CHECK(error.code == rpc_code::parse_error);
        CHECK(json::serialize(error.id) == id);
    }
    for (const char* half :
         {R"(\ud83d)", R"(\uDBFF.)", R"(\ud83d\n)", R"(\ude00)", R"(\ud83d\ud83d)", R"(\ud83d\u0041)"})
        CHECK(mentions(refusal(std::string(R"({"jsonrpc":"2.0","id":8,"method":")") + half + "\"}"), "surrogate"));
    CHECK_FALSE(mentions(refusal(R"({"jsonrpc":"2.0","id":8,"method":"\q"})"), "surrogate"));
    CHECK(refusal(R"({"jsonrpc":"2.0","id":1,"method":"m","params":)" + nested(90) + "}").id == json::value(1));
}

TEST_CASE("a bad member of a batch takes no other with it")
{
    const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    const std::pair<std::string, std::string> bad[] = {
        {R"({"jsonrpc":"2.0","id":2})", "2"},
        {"1", "null"},
        {"[]", "null"},
        {R"({"jsonrpc":"2.0","id":"x","method":7})", "\"x\""},
        {R"({"jsonrpc":"2.0","id":4,"method":"m","params":{"a":"\udc00"}})", "4"},
        {R"({"id":6,"method":"m","a":tru})", "6"}};
    for (const auto& [member, id] : bad) {
        INFO(member);
        const auto decoded = decode("[" + ping + ", " + member + " ," + ping + "]", limits);
        REQUIRE(decoded.messages.size() == 3);
        CHECK(decoded.batch);
        for (const auto at : {0, 2}) {
            const auto& good = std::get<request>(decoded.messages[static_cast<std::size_t>(at)]);
            CHECK(good.method == "ping");
            CHECK_FALSE(good.refusal);
        }
        const auto& refused = std::get<request>(decoded.messages[1]);
        REQUIRE(refused.refusal);
        CHECK(json::serialize(refused.id) == id);
    }
    CHECK(refusal("[" + ping + ",{\"id\":2,\"a\":\"\\ud800\"}," + ping + "]", {64, 2}).code == rpc_code::parse_error);
    CHECK(refusal("[" + ping + ",").code == rpc_code::parse_error);
}

TEST_CASE("a text that is nothing but brackets or quotes is looked through once")
{
    const auto begin = std::chrono::steady_clock::now();
    const std::string head = R"({"jsonrpc":"2.0","id":1,"method":"m","params":)";
    for (const std::string part : {"[", "{\"a\":", "\"", "\\", ",", "[]"}) {
        std::string text = head;
        while (text.size() < 2'000'000) text += part;
        CHECK(refusal(text).id.is_null() == false);
        text[0] = '[';
        refusal(text);
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a batch is limited and not empty")
{
    const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    const auto decoded = decode("[" + one + "," + one + "]", limits);
    CHECK(decoded.batch);
    CHECK(decoded.messages.size() == 2);
    CHECK(refusal("[]").code == rpc_code::invalid_request);
    const auto error = refusal("[" + one + "," + one + "," + one + "]", {64, 2});
    CHECK(mentions(error, "more than 2"));
}

TEST_CASE("a number of a million digits is read in linear time")
{
    const std::string head = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":0.)";
    const auto begin = std::chrono::steady_clock::now();
    decode(head + std::string(1'000'000, '1') + "}}", limits);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}
