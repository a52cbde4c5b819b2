#include "test/support/catch.hpp"

#include "load/verdict.hpp"

#include <sstream>
#include <stdexcept>

using namespace cmcp::load;

namespace {

std::string refusal_of_threshold(const std::string& expression)
{
    try {
        parse_threshold(expression);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

// A hundred calls a second for ten seconds, one of them failed, each a millisecond longer than the one before.
load_result result_of_a_test()
{
    load_result result(1);
    result.opened = 1;
    result.seconds = 10;
    result.in_time = 999;
    auto& calls = result.record.calls[0];
    calls.succeeded = 999;
    for (int i = 1; i < 1000; ++i) calls.latency.record(i * 1'000'000);
    calls.errors.add({"timeout", {}});
    return result;
}

bool fails_if(const std::string& expression)
{
    load_options options;
    options.calls = {parse_operation("ping")};
    options.thresholds = {parse_threshold(expression)};
    auto result = result_of_a_test();
    return any_failed(judge(options, result));
}

}  // namespace

TEST_CASE("a threshold names a figure, a side and a bound with its unit")
{
    auto plain = parse_threshold("p99 > 50ms");
    CHECK(plain.of == threshold::figure::latency);
    CHECK(plain.statistic == 99);
    CHECK(plain.bound == 50e6);
    CHECK(plain.above);
    CHECK(plain.expression == "p99>50ms");
    auto first = parse_threshold("first_progress.p999>=1.5s");
    CHECK(first.of == threshold::figure::first_progress);
    CHECK(first.statistic == Approx(99.9));
    CHECK(first.bound == 1.5e9);
    CHECK(first.at_bound);
    CHECK(parse_threshold("errors>0.1%").in == threshold::unit::percent);
    CHECK(parse_threshold("errors>3").in == threshold::unit::count);
    CHECK_FALSE(parse_threshold("rps<1000").above);
    for (const auto* each :
         {"p50>1us", "p90>1us", "p95>1us", "max>1us", "mean>1us", "health.p99>1s", "opening.max>1s", "gap.p99>1s"})
        CHECK_NOTHROW(parse_threshold(each));
}

TEST_CASE("a threshold may be about one call")
{
    CHECK(parse_threshold("create_sandbox.p99>1s").call == "create_sandbox");
    CHECK(parse_threshold("tools/list.errors>0%").of == threshold::figure::errors);
    const auto output = parse_threshold("run.first_progress.p99>1s");
    CHECK(output.call == "run");
    CHECK(output.of == threshold::figure::first_progress);
    CHECK(parse_threshold("gap.p99>1s").call.empty());
}

TEST_CASE("a threshold that cannot be read is refused with an example")
{
    for (const auto* each : {"", "p99", "p99>", "p99>50", "p99>50%", "p98>50ms", "errors>1ms", "rps<10s",
                             "frob.p98>1ms", "p99>-1ms", "p99>nanms", "p99=5ms"}) {
        CAPTURE(each);
        CHECK(refusal_of_threshold(each).find("as in '") != std::string::npos);
    }
}

TEST_CASE("thresholds are judged by what was measured")
{
    CHECK(fails_if("p50>400ms"));
    CHECK_FALSE(fails_if("p50>600ms"));
    CHECK(fails_if("p95<960ms"));
    CHECK(fails_if("max>998ms"));
    CHECK_FALSE(fails_if("max>999ms"));
    CHECK(fails_if("max>=999ms"));
    CHECK(fails_if("mean>499ms"));
    CHECK_FALSE(fails_if("mean>501ms"));
    CHECK(fails_if("errors>0%"));
    CHECK_FALSE(fails_if("errors>0.1%"));
    CHECK(fails_if("errors>=0.1%"));
    CHECK(fails_if("errors>0"));
    CHECK_FALSE(fails_if("errors>1"));
    CHECK(fails_if("rps<100"));
    CHECK_FALSE(fails_if("rps<99"));
}

TEST_CASE("a threshold for something that never came is not kept")
{
    CHECK(fails_if("first_progress.p99>1s"));
    CHECK(fails_if("health.p99>1s"));
}

TEST_CASE("without a threshold more than one failed call in a hundred is a failure")
{
    load_options options;
    options.calls = {parse_operation("ping")};
    auto result = result_of_a_test();
    CHECK_FALSE(any_failed(judge(options, result)));
    result.record.calls[0].errors.add({"timeout", {}}, 20);
    auto verdicts = judge(options, result);
    CHECK(any_failed(verdicts));
    std::ostringstream lines;
    print_verdicts(lines, verdicts);
    CHECK(lines.str().find("✗ 2.06 % (21 of 1020 calls)") != std::string::npos);
    options.thresholds = {parse_threshold("p99>10s")};
    CHECK_FALSE(any_failed(judge(options, result)));
    load_result none(1);
    options.thresholds.clear();
    CHECK(any_failed(judge(options, none)));
    options.sessions = 0;
    CHECK(judge(options, none).empty());
}
