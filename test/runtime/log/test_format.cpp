#include "log/log.hpp"
#include "test/support/catch.hpp"

#include <chrono>
#include <optional>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

const std::chrono::system_clock::time_point a_moment{1'795'269'600'123ms};

std::string text(const json::value& value)
{
    return log::format_text(a_moment, log::level::info, "event", {{"key", value}});
}

}  // namespace

TEST_CASE("a text line holds time in UTC, level, event and fields")
{
    const auto line =
        log::format_text(a_moment, log::level::warning, "run_ended", {{"request", "r1"}, {"ms", 12}, {"ok", true}});
    CHECK(line == "2026-11-21T14:00:00.123Z WARNING run_ended request=r1 ms=12 ok=true");
}

TEST_CASE("a value that holds spaces, quotes or an equals sign is quoted")
{
    CHECK(text("a b") == "2026-11-21T14:00:00.123Z INFO event key=\"a b\"");
    CHECK(text("a\"b") == "2026-11-21T14:00:00.123Z INFO event key=\"a\\\"b\"");
    CHECK(text("a=b") == "2026-11-21T14:00:00.123Z INFO event key=\"a=b\"");
    CHECK(text("") == "2026-11-21T14:00:00.123Z INFO event key=\"\"");
}

TEST_CASE("no value forges a line or moves the terminal's cursor")
{
    for (const char* hostile : {"a\nb", "a\rb", "a\x1b[2Jb",
                                "a\x7f"
                                "b",
                                "a\xc2\x9b"
                                "b",
                                "a\xe2\x80\xa8"
                                "b",
                                "a\xe2\x80\xae"
                                "b"}) {
        for (const auto& line :
             {text(hostile), log::format_json(a_moment, log::level::info, hostile, {{"key", hostile}})}) {
            CHECK(line.find_first_of("\n\r\x1b\x7f") == std::string::npos);
            CHECK(line.find("\xc2\x9b") == std::string::npos);
            CHECK(line.find("\xe2\x80") == std::string::npos);
        }
    }
}

TEST_CASE("a nested value is escaped too")
{
    const json::value nested{{"inner", "a\x7f\nb"}};
    CHECK(text(nested) == "2026-11-21T14:00:00.123Z INFO event key={\"inner\":\"a\\u007f\\nb\"}");
}

TEST_CASE("invalid UTF-8 becomes the replacement character")
{
    CHECK(log::escape_controls("a\xff"
                               "b") ==
          "a\xef\xbf\xbd"
          "b");
    CHECK(log::escape_controls("\xc3") == "\xef\xbf\xbd");
    CHECK(log::escape_controls("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(log::escape_controls("grün") == "grün");
}

TEST_CASE("a JSON line is JSON and keeps the types of its fields")
{
    const auto line = log::format_json(a_moment, log::level::error, "odd \"event\"",
                                       {{"n", 7}, {"s", "x\ny\xff"}, {"a", json::array{1, 2}}});
    const auto parsed = json::parse(line).as_object();
    CHECK(parsed.at("time").as_string() == "2026-11-21T14:00:00.123Z");
    CHECK(parsed.at("level").as_string() == "ERROR");
    CHECK(parsed.at("event").as_string() == "odd \"event\"");
    CHECK(parsed.at("n").as_int64() == 7);
    CHECK(parsed.at("s").as_string() == "x\ny\xef\xbf\xbd");
    CHECK(parsed.at("a").as_array().size() == 2);
}

TEST_CASE("an overlong value is cut and a JSON line stays JSON")
{
    const std::string huge(100'000, 'x');
    CHECK(text(json::string(huge)).size() < 5'000);
    CHECK(json::parse(log::format_json(a_moment, log::level::info, "e", {{"k", json::string(huge)}}))
              .as_object()
              .at("k")
              .is_string());
    json::array many(50'000, json::value(1));
    CHECK(
        json::parse(log::format_json(a_moment, log::level::info, "e", {{"k", many}})).as_object().at("k").is_string());
}

TEST_CASE("numbers are plain decimals and a time is in milliseconds with three digits")
{
    using namespace std::chrono;
    const auto line =
        log::format_json(a_moment, log::level::info, "e", {{"ms", nanoseconds(519'219)}, {"part", 0.5}, {"n", 3u}});
    CHECK(line.ends_with(R"("ms":0.519,"part":0.5,"n":3})"));
    CHECK(log::format_text(a_moment, log::level::info, "e", {{"ms", seconds(2)}}).ends_with(" ms=2000"));
}

TEST_CASE("a field without a value is left out")
{
    const std::optional<int> none;
    const auto with = {log::field("a", none), log::field("b", log::unless_empty("")),
                       log::field("c", log::unless_empty("x"))};
    CHECK(log::format_text(a_moment, log::level::info, "e", with).ends_with(" e c=x"));
    CHECK(log::format_json(a_moment, log::level::info, "e", with).ends_with(R"("event":"e","c":"x"})"));
}

TEST_CASE("a list of words is an array in JSON and words with commas in text")
{
    const json::array words{"seccomp", "landlock"};
    CHECK(text(words).ends_with(" key=seccomp,landlock"));
    CHECK(log::format_json(a_moment, log::level::info, "e", {{"on", words}})
              .ends_with(R"("on":["seccomp","landlock"]})"));
    CHECK(text(json::array{"two words", "x"}).ends_with(R"( key=["two words","x"])"));
}
