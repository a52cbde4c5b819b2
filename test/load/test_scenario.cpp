#include "test/support/catch.hpp"

#include "load/comparison.hpp"
#include "load/report_for_ci.hpp"
#include "load/scenario.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <stdlib.h>

using namespace cmcp;
using namespace cmcp::load;

namespace {

constexpr auto life = R"({"name": "life", "steps": [
    {"name": "make", "call": "create", "capture": {"id": "made.id"}},
    {"name": "use", "call": "run", "arguments": {"id": "{{id}}", "text": "n={{n}} id={{id}}", "list": [{"n": "{{n}}"}]}, "repeat": 2, "expect": "done"},
    {"name": "remove", "call": "delete", "arguments": {"id": "{{id}}"}, "always": true}]})";

std::string refusal_of_scenario(std::string_view text)
{
    try {
        read_scenario(text, {});
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

// The seconds of a test whose calls take `milliseconds`, a little more and a little less by turns.
json::object report_of_a_load(double milliseconds, std::size_t seconds = 20, double spread = 0.01)
{
    json::array series;
    for (std::size_t i = 0; i != seconds; ++i) {
        const double time = milliseconds * 1e3 * (1 + (i % 2 == 0 ? spread : -spread));
        series.push_back({{"seconds", 1.0},
                          {"succeeded", 1e6 / time},
                          {"failed", 0},
                          {"p50_us", time},
                          {"p99_us", time * 2},
                          {"calls_p50_us", {{"ping", time}}}});
    }
    return {
        {"options",
         {{"transport", "sse"}, {"sessions", 4}, {"slow", 0}, {"rate", 0}, {"loop", "closed"}, {"progress", false}}},
        {"calls", {{"ping", json::object()}}},
        {"series", std::move(series)}};
}

using outcome = comparison::outcome;

}  // namespace

TEST_CASE("a scenario fills in what earlier answers held, of any kind")
{
    const auto read = read_scenario(life, {});
    scenario_way way(read);
    way.begin({{"n", 7}});
    REQUIRE(way.step() == 0u);
    CHECK(way.take(R"({"result":{"structuredContent":{"made":{"id":"sbx"}}}})").empty());
    way.done(true);
    REQUIRE(way.step() == 1u);
    CHECK(json::parse(way.arguments()) == json::parse(R"({"id":"sbx","text":"n=7 id=sbx","list":[{"n":7}]})"));
    CHECK(way.take(R"({"result":{"content":[]}})") == "another answer");
    CHECK(way.take(R"({"result":{"content":[{"text":"done"}]}})").empty());
    way.done(true);
    CHECK(way.step() == 1u);
    way.done(true);
    CHECK(way.step() == 2u);
    way.done(true);
    CHECK(!way.step());
    CHECK(way.completed());
}

TEST_CASE("a scenario reads the structured result of older revisions from its text")
{
    const auto read = read_scenario(life, {});
    scenario_way way(read);
    way.begin({});
    CHECK(way.take(R"({"result":{"content":[{"type":"text","text":"{\"made\":{\"id\":5}}"}]}})").empty());
    way.begin({});
    CHECK(way.take(R"({"result":{"structuredContent":{"made":{}}}})") == "no made.id in the answer");
}

TEST_CASE("after a failed step a scenario makes those alone that are always made and can be")
{
    const auto read = read_scenario(life, {});
    scenario_way way(read);
    way.begin({});
    way.done(false);
    CHECK(!way.step());  // nothing was made that could be removed
    CHECK(!way.completed());
    way.begin({{"n", 1}});
    way.take(R"({"result":{"structuredContent":{"made":{"id":"sbx"}}}})");
    way.done(true);
    way.done(false);
    CHECK(way.step() == 2u);
    way.done(true);
    CHECK(!way.step());
    CHECK(way.failed());
}

TEST_CASE("the end of a test leads a scenario to what is always made")
{
    const auto read = read_scenario(life, {});
    scenario_way way(read);
    way.begin({{"n", 1}});
    way.take(R"({"result":{"structuredContent":{"made":{"id":"sbx"}}}})");
    way.done(true);
    way.done(true);
    way.wind_up();
    CHECK(way.step() == 2u);
    way.done(true);
    CHECK(!way.completed());
    CHECK(!way.failed());
}

TEST_CASE("a scenario's data rows and stages are read")
{
    char folder[] = "/tmp/cmcp-scenario-XXXXXX";
    REQUIRE(::mkdtemp(folder) != nullptr);
    std::ofstream(std::string(folder) + "/users.csv") << "name,text\nann,\"a, \"\"b\"\"\"\r\nbob,c\n";
    const auto read = read_scenario(R"({"data":"users.csv","steps":[{"call":"ping"}],
        "stages":[{"seconds":2,"rate":0,"to":10},{"seconds":1,"rate":10}]})",
                                    folder);
    std::filesystem::remove_all(folder);
    REQUIRE(read.rows.size() == 2);
    CHECK(read.rows[0] == json::parse(R"({"name":"ann","text":"a, \"b\""})").get_object());
    CHECK(read.duration() == std::chrono::seconds(3));
    CHECK(read.rate_at(std::chrono::seconds(1)) == 5);
    CHECK(read.rate_at(std::chrono::milliseconds(2500)) == 10);
    CHECK(read.rate_at(std::chrono::seconds(9)) == 10);
}

TEST_CASE("a scenario that is wrong is refused with the place")
{
    CHECK(refusal_of_scenario("{").find("not valid JSON") != std::string::npos);
    CHECK(refusal_of_scenario(R"({"steps":[]})").find("\"steps\"") != std::string::npos);
    CHECK(refusal_of_scenario(R"({"steps":[{"call":"ping","argument":{}}]})").find("\"argument\" of step 1") !=
          std::string::npos);
    CHECK(refusal_of_scenario(R"({"steps":[{"call":"ping"},{"call":"ping"}]})").find("two steps are called ping") !=
          std::string::npos);
    CHECK(refusal_of_scenario(R"({"steps":[{"call":"ping"}],"stages":[{"seconds":1}]})").find("stage 1") !=
          std::string::npos);
    CHECK(refusal_of_scenario(R"({"data":"none.csv","steps":[{"call":"ping"}]})").find("none.csv") !=
          std::string::npos);
}

TEST_CASE("every ready scenario can be read")
{
    REQUIRE(!ready_scenarios().empty());
    for (const auto& name : ready_scenarios()) CHECK(find_scenario(name).name == name);
    CHECK_THROWS_AS(find_scenario("no-such-scenario"), std::invalid_argument);
}

TEST_CASE("a comparison tells a slower test from noise")
{
    const auto judged = [](const json::object& now, const std::vector<json::object>& earlier) {
        return compare(now, earlier)[1].is;
    };
    CHECK(judged(report_of_a_load(13), {report_of_a_load(10)}) == outcome::worse);
    CHECK(judged(report_of_a_load(7), {report_of_a_load(10)}) == outcome::better);
    CHECK(judged(report_of_a_load(10.2), {report_of_a_load(10)}) == outcome::same);
    CHECK(judged(report_of_a_load(13, 20, 0.6), {report_of_a_load(10, 20, 0.6)}) == outcome::same);
    CHECK(judged(report_of_a_load(13, 3), {report_of_a_load(10)}) == outcome::unknown);
    CHECK(judged(report_of_a_load(13), {report_of_a_load(10), report_of_a_load(13.1)}) == outcome::same);
    const auto rate = compare(report_of_a_load(13), {report_of_a_load(10)})[0];
    CHECK(rate.is == outcome::worse);
    CHECK(words_of(rate).find("fewer") != std::string::npos);
}

TEST_CASE("a comparison with another test is refused")
{
    auto other = report_of_a_load(10);
    other["options"].as_object()["sessions"] = 8;
    CHECK_THROWS_AS(compare(report_of_a_load(10), {other}), std::invalid_argument);
    auto calls = report_of_a_load(10);
    calls["calls"] = {{"tools/list", json::object()}};
    CHECK_THROWS_AS(compare(report_of_a_load(10), {calls}), std::invalid_argument);
}

TEST_CASE("the reports for CI hold the conditions, with what XML and Markdown take for their own escaped")
{
    load_options options;
    options.calls.push_back(parse_operation("ping"));
    options.calls[0].name = "a|b";
    load_result result(1);
    result.seconds = 1;
    const std::vector<verdict> verdicts{{"p99>1ms", "2 \"ms\" & <more>\x01", true}, {"errors>1%", "0 %", false}};
    const auto junit = report_junit(options, result, verdicts, {});
    CHECK(junit.find("tests=\"2\" failures=\"1\"") != std::string::npos);
    CHECK(junit.find("2 &quot;ms&quot; &amp; &lt;more&gt; ") != std::string::npos);
    const auto markdown = report_markdown(options, result, verdicts, {});
    CHECK(markdown.find("| a\\|b | 0 | 0 |") != std::string::npos);
    CHECK(markdown.find("- ✗ 2") != std::string::npos);
}
