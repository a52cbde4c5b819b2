#include "test/support/catch.hpp"

#include "metrics/registry.hpp"
#include "metrics/trace_context.hpp"

#include <algorithm>
#include <string>

using namespace cmcp::metrics;

namespace {

bool has_line(const std::string& text, const std::string& line)
{
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("figures are written in the text format of Prometheus")
{
    registry figures;
    figures.counters("calls_total", "Calls.", {"tool", "outcome"}).at({"a\"b\\c\n", "ok"}).add(3);
    figures.counters("calls_total", "Calls.", {"tool", "outcome"}).at({"a\"b\\c\n", "ok"}).add();
    figures.gauges("streams", "Streams.").at().set(2.5);
    int owner = 0;
    figures.observe(&owner, "sessions", "Sessions.", [] { return 7.0; });
    auto text = figures.text();
    CHECK(has_line(text, "# TYPE calls_total counter"));
    CHECK(has_line(text, R"(calls_total{tool="a\"b\\c\n",outcome="ok"} 4)"));
    CHECK(has_line(text, "# HELP streams Streams."));
    CHECK(has_line(text, "streams 2.5"));
    CHECK(has_line(text, "sessions 7"));
    figures.remove(&owner);
    CHECK_FALSE(has_line(figures.text(), "sessions 7"));
}

TEST_CASE("a histogram cumulates its buckets")
{
    registry figures;
    auto& calls = figures.histograms("call_seconds", "Time.", {"tool"});
    for (double seconds : {0.0001, 0.0003, 0.03, 1000.0}) calls.at({"t"}).observe(seconds);
    auto text = figures.text();
    CHECK(has_line(text, R"(call_seconds_bucket{tool="t",le="0.0001"} 1)"));
    CHECK(has_line(text, R"(call_seconds_bucket{tool="t",le="0.0005"} 2)"));
    CHECK(has_line(text, R"(call_seconds_bucket{tool="t",le="0.05"} 3)"));
    CHECK(has_line(text, R"(call_seconds_bucket{tool="t",le="300"} 3)"));
    CHECK(has_line(text, R"(call_seconds_bucket{tool="t",le="+Inf"} 4)"));
    CHECK(has_line(text, R"(call_seconds_count{tool="t"} 4)"));
}

TEST_CASE("a trace id is taken from a well-formed traceparent only")
{
    const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    CHECK(trace_id(good) == "4bf92f3577b34da6a3ce929d0e0e4736");
    CHECK(trace_id("01" + good.substr(2) + "-more") == "4bf92f3577b34da6a3ce929d0e0e4736");
    for (const auto& bad :
         {std::string(), good.substr(1), good + "-more", "ff" + good.substr(2), good.substr(0, 54) + "G",
          "00-" + std::string(32, '0') + good.substr(35), good.substr(0, 36) + std::string(16, '0') + "-01",
          std::string("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")})
        CHECK_FALSE(trace_id(bad));
}

TEST_CASE("a text that is made in parts is the same, and no part is long")
{
    registry figures;
    auto& calls = figures.counters("calls_total", "Calls.", {"tool"});
    auto& times = figures.histograms("call_seconds", "Time.", {"tool"});
    for (int i = 0; i < 3000; ++i) {
        calls.at({std::to_string(i)}).add(i);
        times.at({std::to_string(i)}).observe(0.001 * i);
    }
    figures.gauges("streams", "Streams.").at().set(1);
    figures.counters("cmcp_principal_calls", "Of one.", {"principal"}).at({"ann"}).add();
    registry::cursor at;
    std::string text;
    std::size_t longest = 0;
    for (bool more = true; more;) {
        const auto before = text.size();
        more = figures.append_part(text, at, "cmcp_principal_");
        longest = std::max(longest, text.size() - before);
    }
    CHECK(text == figures.text("cmcp_principal_"));
    CHECK(text.find("principal") == std::string::npos);
    CHECK(longest < 200'000);
    CHECK(has_line(text, "calls_total{tool=\"2999\"} 2999"));
    CHECK(has_line(text, "streams 1"));
    CHECK(std::count(text.begin(), text.end(), '\n') == 3000 + 3000 * 22 + 1 + 6);
}

TEST_CASE("figures may come and go while a text is made in parts")
{
    registry figures;
    auto& calls = figures.gauges("calls", "Calls.", {"tool"});
    int owner = 0;
    figures.observe(&owner, "first", "First.", [] { return 1.0; });
    for (int i = 0; i < 5000; ++i) calls.at({std::to_string(i)}).set(i);
    registry::cursor at;
    std::string text;
    REQUIRE(figures.append_part(text, at, {}));
    figures.remove(&owner);
    calls.clear();
    while (figures.append_part(text, at, {})) {
    }
    CHECK(text.ends_with('\n'));
}
