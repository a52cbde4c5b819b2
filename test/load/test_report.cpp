#include "test/support/catch.hpp"

#include "load/report.hpp"

#include <sstream>

using namespace cmcp::load;

namespace {

load_options options_of_servers(std::size_t count)
{
    load_options options;
    options.calls = {parse_operation("ping")};
    options.servers.clear();
    for (std::size_t i = 1; i <= count; ++i)
        options.servers.push_back(parse_address("http://10.0.0." + std::to_string(i) + ":8000/mcp"));
    return options;
}

// Ten seconds, in which the last server answers ten calls of a millisecond and then is gone.
load_result result_of_servers(std::size_t count)
{
    load_result result(1, count);
    auto& record = result.record;
    for (int i = 0; i < 10; ++i) record.count_at(count - 1, "n2", {}, 1'000'000);
    result.seconds = 10;
    result.in_time = record.mark_in_time();
    record.count_at(count - 1, "", {"connection reset", {}}, 0);
    record.count_at(0, "n1", {"tool error NodeUnreachable", {}}, 0);
    record.by_address.back().opening_errors.add({"connect: Connection refused", {}}, 3);
    return result;
}

std::string text_of(const load_options& options, const load_result& result)
{
    std::ostringstream text;
    print_report(text, options, result);
    return text.str();
}

}  // namespace

TEST_CASE("several addresses are split in the text, with what went wrong at each")
{
    auto text = text_of(options_of_servers(2), result_of_servers(2));
    auto split = text.substr(text.find("by address"));
    CHECK(split.find("http://10.0.0.2:8000/mcp             10          1        1.0    1.00 ms    1.00 ms") !=
          std::string::npos);
    auto second = split.substr(split.find("http://10.0.0.2"));
    CHECK(second.find("  calls: 1 x connection reset\n  opening: 3 x connect: Connection refused\n") !=
          std::string::npos);
    auto first = split.substr(0, split.find("http://10.0.0.2"));
    CHECK(first.find("  calls: 1 x tool error NodeUnreachable\n") != std::string::npos);
    CHECK(first.find("connection reset") == std::string::npos);
}

TEST_CASE("the servers that a proxy names are split, too")
{
    auto result = result_of_servers(1);
    auto text = text_of(options_of_servers(1), result);
    CHECK(text.find("by address") == std::string::npos);
    auto split = text.substr(text.find("by X-Served-By"));
    CHECK(split.find("\nn1 ") < split.find("\n  calls: 1 x tool error NodeUnreachable\nn2 "));
    result.record.forget_calls();
    CHECK(text_of(options_of_servers(1), result).find("X-Served-By") == std::string::npos);
}

TEST_CASE("the JSON has the split of several addresses, and none of a single one")
{
    auto report = report_json(options_of_servers(2), result_of_servers(2), {});
    CHECK(report.at("options").at("server") == "http://10.0.0.1:8000/mcp, http://10.0.0.2:8000/mcp");
    const auto& servers = report.at("servers").as_array();
    REQUIRE(servers.size() == 2);
    CHECK(servers[0].at("address") == "http://10.0.0.1:8000/mcp");
    CHECK(servers[0].at("failed") == 1);
    CHECK(servers[0].at("errors").at("tool error NodeUnreachable") == 1);
    CHECK(servers[1].at("succeeded") == 10);
    CHECK(servers[1].at("calls_per_second") == 1.0);
    CHECK(servers[1].at("latency_us").at("count") == 10);
    CHECK(servers[1].at("opening_errors").at("connect: Connection refused") == 3);
    CHECK(report.at("served_by").at("n2").at("succeeded") == 10);
    CHECK_FALSE(report_json(options_of_servers(1), result_of_servers(1), {}).contains("servers"));
}

TEST_CASE("the names of proxies are bounded in number")
{
    recorder record(1);
    for (int i = 0; i < 1000; ++i) record.count_at(0, "cache-" + std::to_string(i), {}, 1);
    CHECK(record.by_name.size() == 100);
    record.count_at(0, "cache-7", {}, 1);
    CHECK(record.by_name.at("cache-7").succeeded == 2);
    CHECK(record.by_address[0].succeeded == 1001);
}
