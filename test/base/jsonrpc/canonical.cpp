#include "jsonrpc/canonical_json.hpp"

#include "test/support/catch.hpp"

#include <limits>

using namespace cmcp;

namespace {

std::string canonical(const json::value& value)
{
    std::string text;
    jsonrpc::append_canonical(text, value);
    return text;
}

}  // namespace

// RFC 8785, section 3.2.2 and 3.2.3.
TEST_CASE("the examples of RFC 8785 have its text")
{
    const auto value = json::parse(R"({"numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]})");
    CHECK(canonical(value) ==
          "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$"
          "\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    const auto names = json::parse(
        R"({"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"})");
    CHECK(canonical(names) ==
          "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"ö\":\"Latin Small Letter O With "
          "Diaeresis\",\"€\":\"Euro Sign\","
          "\"😀\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

// RFC 8785, appendix B.
TEST_CASE("numbers are written as ECMAScript writes them")
{
    const std::pair<double, const char*> samples[] = {{0.0, "0"},
                                                      {-0.0, "0"},
                                                      {5e-324, "5e-324"},
                                                      {-5e-324, "-5e-324"},
                                                      {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                      {9007199254740992.0, "9007199254740992"},
                                                      {295147905179352830000.0, "295147905179352830000"},
                                                      {9.999999999999997e22, "9.999999999999997e+22"},
                                                      {1e23, "1e+23"},
                                                      {999999999999999700000.0, "999999999999999700000"},
                                                      {1e21, "1e+21"},
                                                      {9.999999999999997e-7, "9.999999999999997e-7"},
                                                      {0.000001, "0.000001"},
                                                      {333333333.3333332, "333333333.3333332"},
                                                      {-0.0000033333333333333333, "-0.0000033333333333333333"},
                                                      {1424953923781206.2, "1424953923781206.2"}};
    for (const auto& [number, text] : samples) CHECK(canonical(number) == text);
    CHECK(canonical(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(canonical(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("nested values, empty ones and the order of their members")
{
    CHECK(canonical(json::parse(R"({"b": {}, "a": [ ], "aa": {"z": 1, "y": [{"k": 2}]}})")) ==
          R"({"a":[],"aa":{"y":[{"k":2}],"z":1},"b":{}})");
    CHECK(jsonrpc::comes_before("", "a"));
    CHECK(!jsonrpc::comes_before("a", "a"));
    CHECK(jsonrpc::comes_before("\xed\x9f\xbf", "\xf0\x90\x80\x80"));  // U+D7FF, U+10000
    CHECK(jsonrpc::comes_before("\xf4\x8f\xbf\xbf", "\xee\x80\x80"));  // U+10FFFF, U+E000
    CHECK(jsonrpc::comes_before("\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"));
}
