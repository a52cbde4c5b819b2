#include "jsonrpc/json_reader.hpp"

#include "jsonrpc/canonical_json.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <algorithm>

using namespace cmcp;
using namespace cmcp::jsonrpc;
using namespace cmcp::test;

namespace {

constexpr auto at_once = std::chrono::steady_clock::time_point::max();
constexpr auto one_piece = std::chrono::steady_clock::time_point::min();

// The fault of a text; syntax's words where there is none.
std::string fault_of(std::string_view text, const json_bounds& bounds)
{
    json_reader reader(bounds);
    reader.begin(text);
    while (!reader.read_until(one_piece)) {
    }
    return reader.fault() ? reader.fault()->sentence("it", bounds) + reader.fault()->code.message() : "none";
}

std::string repeated(std::string_view piece, std::size_t count)
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += piece;
    return text;
}

std::string listed(std::string_view item, std::size_t count)
{
    return "[" + repeated(std::string(item) + ",", count - 1) + std::string(item) + "]";
}

std::string members(std::size_t count)
{
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
    return text + "}";
}

std::string call_with(std::string_view arguments)
{
    return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":)" +
           std::string(arguments) + "}}";
}

payload decoded(std::string text, const decode_limits& limits)
{
    message_decoder decoder(std::move(text), limits);
    std::optional<payload> all;
    while (!all) all = decoder.decode_until(one_piece);
    return std::move(*all);
}

decode_error refusal_of_long(std::string text, const decode_limits& limits = {})
{
    try {
        decoded(std::move(text), limits);
    } catch (const decode_error& error) {
        return error;
    }
    throw std::logic_error("accepted");
}

const request& only_request(const payload& all) { return std::get<request>(all.messages.at(0)); }

}  // namespace

TEST_CASE("a long JSON text is read piece by piece and gives what it gives at once")
{
    // The items have other lengths than the pieces, so each kind of token is cut somewhere.
    const std::string item =
        R"({"a":[1.2345678901234567e-5,-17,true,null,18446744073709551615],"é\n":"x\u00e9\"y\\","b":{}})";
    const auto text = "  " + listed(item, 9'000) + " \n";
    json_reader reader;
    reader.begin(text);
    std::size_t steps = 1;
    while (!reader.read_until(one_piece)) ++steps;
    REQUIRE_FALSE(reader.fault());
    CHECK(steps > 10);
    CHECK(write_json(reader.take()) == write_json(read_value(text).value()));
}

TEST_CASE("a JSON text over a bound is refused before its values are made, and the bound is named")
{
    const json_bounds bounds{.depth = 10, .values = 1000, .members = 100};
    CHECK(fault_of(listed("[]", 400), bounds) == "none");
    CHECK(fault_of(listed("[]", 600), bounds).starts_with("it holds more than 1000 values"));
    CHECK(fault_of(members(100), bounds) == "none");
    CHECK(fault_of(members(101), bounds).starts_with("it holds an object with more than 100 members"));
    CHECK(fault_of(listed(members(60), 5), bounds) == "none");
    CHECK(fault_of(repeated("[", 10) + repeated("]", 10), bounds) == "none");
    CHECK(fault_of(repeated("[", 11) + repeated("]", 11), bounds).starts_with("it is nested deeper than 10 levels"));
    CHECK(fault_of("[\"" + repeated("[{,:\\\"", 5000) + "\"]", bounds) == "none");
    CHECK(fault_of("[1e400]", bounds).starts_with("a number is out of range"));
}

TEST_CASE("text that is no JSON is refused by a sliced reader, too")
{
    for (const char* text : {"", "[1", "[1]]", "{\"a\":}", "nul", "[1] x", "[\"\xff\"]"})
        CHECK(fault_of(text, {}) != "none");
    CHECK(fault_of(listed("1", 200'000) + repeated(" ", 100'000) + "x", {}) != "none");
    CHECK(fault_of(listed("1", 200'000) + repeated(" ", 100'000), {}) == "none");
}

TEST_CASE("a long message is decoded as a short one is, and has the digest of its arguments")
{
    const auto text = call_with(R"({"a":)" + listed("\"item\"", 20'000) + R"(,"b":2})");
    decode_limits limits;
    limits.digests = true;
    const auto all = decoded("\xef\xbb\xbf" + text, limits);
    const auto at_once_read = decode(text, limits);
    const auto& long_one = only_request(all);
    const auto& other = only_request(at_once_read);
    CHECK(long_one.is_long);
    CHECK_FALSE(other.is_long);
    CHECK(long_one.params == other.params);
    CHECK(long_one.digest == canonical_digest(other.params.at("arguments").as_object()));
    CHECK(only_request(decoded(text, {})).digest.empty());
}

TEST_CASE("arguments that come as text are an object in a long message")
{
    const auto inner = R"({"a":)" + listed("\"item\"", 20'000) + "}";
    const auto all = decoded(call_with(write_json(std::string_view(inner))), {});
    CHECK(only_request(all).params.at("arguments").as_object().at("a").as_array().size() == 20'000);
}

TEST_CASE("a long message that cannot be read is refused under its id")
{
    const auto broken = refusal_of_long(call_with(listed("1", 50'000) + "]"));
    CHECK(broken.code == rpc_code::parse_error);
    CHECK(broken.id == json::value(1));
    const auto too_many = refusal_of_long(call_with(listed("[]", 200'000)));
    CHECK(too_many.code == rpc_code::invalid_request);
    CHECK(too_many.id == json::value(1));
    CHECK(std::string(too_many.what()).find("250000 values") != std::string::npos);
    const auto wide = refusal_of_long(call_with(members(50'001)));
    CHECK(std::string(wide.what()).find("50000 members") != std::string::npos);
    const auto deep = refusal_of_long(call_with(repeated("[", 70'000) + repeated("]", 70'000)));
    CHECK(std::string(deep.what()).find("nested deeper than 64 levels") != std::string::npos);
    CHECK(refusal_of_long(R"({"jsonrpc":"2.0","id":1,"result":)" + listed("1", 50'000)).id.is_null());
}

TEST_CASE("a bad member of a long batch does not take the others with it")
{
    const auto good = call_with("[" + repeated("1,", 40'000) + "1]");
    const auto all = decoded("[" + good + ",{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":}," + good + "]", {});
    REQUIRE(all.messages.size() == 3);
    CHECK(std::get<request>(all.messages[1]).refusal != nullptr);
    CHECK(std::get<request>(all.messages[2]).refusal == nullptr);
    const auto large = decoded("[{]," + call_with(listed("[]", 400'000)) + "]", {});
    REQUIRE(large.messages.size() == 2);
    REQUIRE(std::get<request>(large.messages[1]).refusal != nullptr);
    CHECK(std::string(std::get<request>(large.messages[1]).refusal->what()).find("250000") != std::string::npos);
}

TEST_CASE("only arguments and answers of a long message may be long")
{
    const auto with = [](std::string_view name, std::string_view value) {
        return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",")" + std::string(name) +
               "\":" + std::string(value) + "}}";
    };
    const auto text = "\"" + std::string(100'000, 'x') + "\"";
    const auto refused = decoded(with("uri", text), {});
    REQUIRE(only_request(refused).refusal != nullptr);
    CHECK(std::string(only_request(refused).refusal->what()).find("`uri`") != std::string::npos);
    CHECK(only_request(decoded(with("_meta", "{\"a\":" + text + "}"), {})).refusal != nullptr);
    for (const char* name : {"arguments", "inputResponses"})
        CHECK(only_request(decoded(with(name, "{\"a\":" + text + "}"), {})).refusal == nullptr);
    CHECK(refusal_of_long(R"({"jsonrpc":"2.0","method":"ping","id":)" + text + "}").code == rpc_code::invalid_request);
}

TEST_CASE("reading, decoding and refusing a JSON text take time in proportion to it")
{
    const auto read = [](const std::string& text) { read_bounded(text, {}); };
    const auto decode_it = [](const std::string& text) {
        decode_limits limits;
        limits.digests = true;
        try {
            decoded(text, limits);
        } catch (const decode_error&) {
        }
    };
    using text_maker = std::string (*)(std::size_t);
    const text_maker inputs[] = {
        [](std::size_t n) { return listed("[]", n); },
        [](std::size_t n) { return listed("1.5e-7", n); },
        [](std::size_t n) { return "[\"" + repeated("\\u00e9\\n", n) + "\"]"; },
        [](std::size_t n) { return members(n); },
        [](std::size_t n) { return "{" + repeated("\"same\":1,", n) + "\"same\":1}"; },
        [](std::size_t n) { return listed(repeated("[", 30) + repeated("]", 30), n / 30); },
    };
    for (const auto input : inputs) {
        CHECK(growth(input, read, 20'000) < linear_growth);
        CHECK(growth([input](std::size_t n) { return call_with(input(n)); }, decode_it, 20'000) < linear_growth);
        CHECK(growth([input](std::size_t n) { return call_with(input(n)) + "}"; }, decode_it, 20'000) < linear_growth);
        CHECK(growth([input](std::size_t n) { return "[" + call_with(input(n)) + ",{]"; }, decode_it, 20'000) <
              linear_growth);
    }
}

TEST_CASE("the beginning of an object's JSON does not take longer for what follows it")
{
    const auto object = read_object(R"({"a":[1,"two"],"b":{"c":null},"d":"x","e":[],"f":{}})");
    CHECK(json_beginning(object, 1000) == write_json(object));
    json::object large;
    large["list"] = json::array(100'000, json::value("item"));
    large["text"] = std::string(1'000'000, 'y');
    const auto beginning = json_beginning(large, 100);
    CHECK(beginning.size() < 200);
    CHECK(write_json(large).starts_with(beginning));
}
