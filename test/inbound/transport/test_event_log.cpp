#include "transport/event_log.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/sse_frame.hpp"

#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"
#include "transport/lost_response.hpp"

#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

event_log::text text(std::string value) { return std::make_shared<const std::string>(std::move(value)); }

}  // namespace

TEST_CASE("event ids are read back as they were written, anything else is none")
{
    for (auto id : {event_id{0, 0}, event_id{3, 17}, event_id{18446744073709551615u, 18446744073709551615u}})
        CHECK(parse_event_id(to_string(id)) == id);
    for (auto bad :
         {"", "-", "1", "1-", "-1", "a-1", "1-2-3", "01-1", "1--1", "18446744073709551616-1", " 1-1", "1-1 "})
        CHECK_FALSE(parse_event_id(bad));
    CHECK_FALSE(parse_event_id(std::string(100000, '9')));
}

TEST_CASE("line ends in the data of an event cannot end it")
{
    std::string out;
    append_event(out, "message", "a\nb\r\n\r\nc\rd", event_id{1, 2});
    CHECK(out == "id: 1-2\nevent: message\ndata: a\ndata: b\ndata: \ndata: c\ndata: d\n\n");
}

TEST_CASE("the log gives the later events of the same stream")
{
    const auto budget = std::make_shared<memory_budget>();
    event_log log(10'000, budget->of(""));
    log.add({1, 1}, text("a"));
    log.add({2, 1}, text("x"));
    log.add({1, 2}, text("b"));
    log.add({1, 3}, text("c"));
    auto missed = log.after({1, 1});
    REQUIRE(missed.size() == 2);
    CHECK(*missed[0].data == "b");
    CHECK(*missed[1].data == "c");
    CHECK(log.after({3, 0}).empty());
}

TEST_CASE("the log stays within its size and within what all logs share")
{
    auto budget = std::make_shared<memory_budget>(6000);
    event_log log(4000, budget->of(""));
    for (std::uint64_t i = 1; i <= 100; ++i) log.add({1, i}, text(std::string(500, 'x')));
    CHECK(log.bytes() <= 4000);
    CHECK(log.after({1, 0}).back().id.sequence == 100);
    log.add({1, 101}, text(std::string(5000, 'x')));
    CHECK(log.bytes() <= 4000);
    {
        event_log other(4000, budget->of(""));
        for (std::uint64_t i = 1; i <= 100; ++i) other.add({1, i}, text(std::string(500, 'x')));
        CHECK(budget->used() <= 6000);
    }
    CHECK(budget->used() == log.bytes());
    log.forget_before(std::chrono::steady_clock::now() + std::chrono::seconds(1));
    CHECK(budget->used() == 0);
}

TEST_CASE("in place of a response that the log does not keep comes an error that says how the call ended")
{
    const auto budget = std::make_shared<memory_budget>();
    event_log log(2000, budget->of(""));
    const auto response = [](const std::string& output, const std::string& facts) {
        return text(R"({"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":")" + output +
                    R"(exit code 3"}],"structuredContent":{)" + facts + R"("exit_code":3,"stdout":")" + output +
                    R"("},"isError":true}})");
    };
    log.add({1, 1}, text("progress"));
    log.add({1, 2}, response(std::string(2000, 'x'), R"("output_path":"outputs/7.txt",)"), R"("a")");
    log.add({2, 1}, response("short", ""), "5");
    CHECK(log.after({2, 0}).front().data->find("short") != std::string::npos);
    for (std::uint64_t i = 1; i <= 10; ++i) log.add({3, i}, text(std::string(500, 'y')));
    for (const auto& [stream, id] : {std::pair{1u, R"("a")"}, std::pair{2u, "5"}}) {
        const auto missed = log.after({stream, 0});
        REQUIRE(missed.size() == 1);
        const auto response_lost = json::parse(*missed.front().data).as_object();
        CHECK(json::serialize(response_lost.at("id")) == id);
        const auto& error = response_lost.at("error").as_object();
        const auto& data = error.at("data").as_object();
        CHECK(data.at("type") == "ResponseLost");
        CHECK(data.at("outcome").at("exit_code") == 3);
        CHECK(data.at("outcome").at("isError") == true);
        const bool has_file = error.at("message").as_string().find("outputs/7.txt") != json::string::npos;
        CHECK(has_file == (stream == 1));
        CHECK(data.at("outcome").at("end_of_text").as_string().ends_with("exit code 3"));
        CHECK(missed.front().data->size() < 3000);
        CHECK(log.after(missed.front().id).empty());
    }
}

TEST_CASE("lost responses are remembered within bounds")
{
    const auto budget = std::make_shared<memory_budget>();
    {
        event_log log(1000, budget->of(""));
        for (std::uint64_t i = 1; i <= 5000; ++i) log.add({i, 1}, text(std::string(2000, 'x')), std::to_string(i));
        CHECK(log.after({1, 0}).empty());
        CHECK(log.after({5000, 0}).size() == 1);
        CHECK(budget->used() < 100'000);
        log.add({5001, 1}, text(std::string(2000, 'x')), '"' + std::string(5000, 'i') + '"');
        CHECK(log.after({5001, 0}).empty());
    }
    CHECK(budget->used() == 0);
}

TEST_CASE("Accept is read as clients write it")
{
    CHECK(parse_accept(std::nullopt).events);
    CHECK(parse_accept("*/*").json);
    CHECK_FALSE(parse_accept("application/json").events);
    CHECK_FALSE(parse_accept("text/event-stream").json);
    CHECK(parse_accept("Application/JSON;q=1 , text/event-stream").events);
    CHECK_FALSE(parse_accept("application/json;q=0, */*").json);
    CHECK(parse_accept("application/json;q=0, */*").events);
    CHECK_FALSE(parse_accept("text/html, */* ; Q=0.000").json);
    CHECK(parse_accept("application/json;q=0.1").json);
    auto neither = parse_accept("image/png");
    CHECK_FALSE(neither.json);
    CHECK_FALSE(neither.events);
}

TEST_CASE("of a long response that is lost the facts are told, too, whatever stands beside them")
{
    const auto budget = std::make_shared<memory_budget>();
    event_log log(2000, budget->of(""));
    std::string rows = "[";
    while (rows.size() < 500'000) rows += R"([{"a":"\"}]"},{}],)";
    rows += "1]";
    const auto response =
        text(R"({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"image","data":"AA=="},{"type":"text","text":")" +
             std::string(100'000, 'x') + R"(\n\u20acexit code 3"}],"structuredContent":{"rows":)" + rows +
             R"(,"exit_code":3,"output_path":"outputs/7.txt","stdout":")" + std::string(100'000, 'y') +
             R"("},"isError":true}})");
    log.add({1, 1}, response, "5");
    const auto missed = log.after({1, 0});
    REQUIRE(missed.size() == 1);
    const auto lost = json::parse(*missed.front().data).as_object();
    const auto& error = lost.at("error").as_object();
    const auto& outcome = error.at("data").as_object().at("outcome").as_object();
    CHECK(outcome.at("exit_code") == 3);
    CHECK(outcome.at("isError") == true);
    CHECK(outcome.at("output_path") == "outputs/7.txt");
    CHECK_FALSE(outcome.contains("rows"));
    CHECK(outcome.at("end_of_text").as_string().ends_with("\n€exit code 3"));
    CHECK(error.at("message").as_string().find("outputs/7.txt") != json::string::npos);
    log.add({1, 2}, text(std::string(300'000, '{')), "6");
    CHECK(log.after({1, 1}).size() == 1);
}

TEST_CASE("what is told of a lost response takes time linear in it")
{
    for (const std::string piece : {"[],", R"({"a":{"b":[]}},)", R"("\\\"",)", "1,"}) {
        CAPTURE(piece);
        const auto response = [&piece](std::size_t size) {
            std::string rows;
            while (rows.size() < size) rows += piece;
            return R"({"jsonrpc":"2.0","id":5,"result":{"structuredContent":{"rows":[)" + rows + R"(1],"n":1}}})";
        };
        CHECK(growth(
                  response, [](const std::string& whole) { lost_response("5", whole); }, 500'000) < linear_growth);
    }
}
