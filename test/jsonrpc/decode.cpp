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
    for (const char* text : {"1", "null", "\"a\"", "[1]", "[[]]"})
        CHECK(refusal(text).code == rpc_code::invalid_request);
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
