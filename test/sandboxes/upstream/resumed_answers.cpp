#include "test/sandboxes/upstream/upstream_stage.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string event_with_id(const std::string& id, const std::string& data)
{
    return "id: " + id + "\nretry: 10\ndata: " + data + "\n\n";
}

std::string step_of(const heard& to, int number)
{
    const auto token = jsonrpc::write_json(object_of(to.params, "_meta").at("progressToken"));
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token +
           R"(,"progress":)" + std::to_string(number) + "}}";
}

bool is_resumption(const heard& one) { return holds(one.head, "last-event-id"); }

/// A server whose answers break off behind some events, and go on as `rest` says.
struct breaking_stage : upstream_stage {
    explicit breaking_stage(std::string events = event_with_id("e-1", "")) : first(std::move(events))
    {
        other.on["tools/call"] = [this](const heard& to) {
            called = to;
            return as_events(first);
        };
        other.on["GET"] = [this](const heard& to) {
            if (!is_resumption(to)) return refused("405 Method Not Allowed");
            resumptions.push_back(to);
            return rest(to);
        };
        progress = [this](const upstream_progress& step) { steps.push_back(step.progress); };
    }

    std::string first;
    heard called;
    std::vector<heard> resumptions;
    std::vector<double> steps;
    test::peer::answers rest = [this](const heard&) {
        return as_events(event_with_id("e-2", response(called, said_hello)));
    };
};

}  // namespace

TEST_CASE("an answer that breaks off goes on behind its latest event, in its session")
{
    breaking_stage stage;
    CHECK(stage.call() == parsed(said_hello));
    REQUIRE(stage.resumptions.size() == 1);
    CHECK(holds(stage.resumptions[0].head, "last-event-id: e-1"));
    CHECK(holds(stage.resumptions[0].head, "mcp-session-id: session-1"));
    CHECK(holds(stage.resumptions[0].head, "mcp-protocol-version: 2025-11-25"));
    CHECK(holds(stage.resumptions[0].head, "accept: text/event-stream"));
    CHECK(stage.other.count("tools/call") == 1);
    CHECK(stage.other.count("initialize") == 1);
}

TEST_CASE("a connection that is lost in the middle of an event is as good as one that ends")
{
    breaking_stage stage;
    stage.other.on["tools/call"] = [&](const heard& to) {
        stage.called = to;
        const auto events = event_with_id("a/b+c", step_of(to, 1)) + "id: lost\ndata: {\"js";
        const std::string chunk = "40000\r\n" + events;  // of which most is missing
        return script{
            {step::kind::send,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk,
             {}},
            {step::kind::close, {}, {}}};
    };
    CHECK(stage.call() == parsed(said_hello));
    REQUIRE(stage.resumptions.size() == 1);
    CHECK(holds(stage.resumptions[0].head, "last-event-id: a/b+c"));
}

TEST_CASE("a server may end a stream again and again, as long as it says something in between")
{
    breaking_stage stage;
    stage.rest = [&](const heard&) {
        const auto number = static_cast<int>(stage.resumptions.size());
        if (number < 12) return as_events(event_with_id("n-" + std::to_string(number), step_of(stage.called, number)));
        return as_events(event_with_id("end", response(stage.called, said_hello)));
    };
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.resumptions.size() == 12);
    CHECK(holds(stage.resumptions[11].head, "last-event-id: n-11"));
    CHECK(stage.steps.size() == 11);
}

TEST_CASE("a server that does not go on is asked a few times, and the call is not made again")
{
    breaking_stage stage;
    stage.rest = [](const heard&) { return as_events(": nothing\n\n"); };
    CHECK(holds(stage.failure(), "broke off its answer and did not go on with it (it was asked 5 times)"));
    CHECK(stage.resumptions.size() == 5);
    CHECK(stage.other.count("tools/call") == 1);

    stage.resumptions.clear();
    stage.rest = [](const heard&) { return refused("503 Service Unavailable"); };
    CHECK(holds(stage.failure(), "did not go on with it"));
    CHECK(stage.resumptions.size() == 5);
}

TEST_CASE("a server that offers no resumption is believed at once")
{
    for (const auto* status : {"405 Method Not Allowed", "400 Bad Request"}) {
        breaking_stage stage;
        stage.rest = [=](const heard&) { return refused(status); };
        CHECK(holds(stage.failure(), "did not go on with it (HTTP " + std::string(status, 3) + ")"));
        CHECK(stage.resumptions.size() == 1);
    }
    breaking_stage stage;
    stage.rest = [&](const heard&) { return send(answer(response(stage.called, said_hello), "application/json")); };
    CHECK(holds(stage.failure(), "it sent no events"));
}

TEST_CASE("a session that ends with a broken answer is opened anew for the next call, not for this one")
{
    breaking_stage stage;
    stage.rest = [](const heard&) { return refused("404 Not Found"); };
    CHECK(holds(stage.failure(), "HTTP 404"));
    CHECK(stage.other.count("tools/call") == 1);
    stage.other.on["tools/call"] = [](const heard& to) { return as_json(to, said_hello); };
    CHECK(stage.call() == parsed(said_hello));
    CHECK(stage.other.count("initialize") == 2);
}

TEST_CASE("ids of events that no header can hold are not sent back")
{
    for (const std::string id : {"with blank", "\xc3\xa4", "tab\tin it", "\x7f", ""}) {
        breaking_stage stage(event_with_id("good", "") + event_with_id(id, ""));
        const auto failure = stage.failure();
        CHECK(holds(failure, "ended its answer without a result"));
        CHECK(stage.resumptions.empty());
    }
    breaking_stage stage(event_with_id(std::string(2000, 'x'), ""));
    CHECK(holds(stage.failure(), "ended its answer without a result"));
    CHECK(stage.resumptions.empty());
}

TEST_CASE("an answer is bounded over all its connections")
{
    breaking_stage stage;
    const std::string large = ": " + std::string(15 << 20, 'x') + "\n\n";
    stage.rest = [&](const heard&) {
        return as_events(large + event_with_id("n-" + std::to_string(stage.resumptions.size()), ""));
    };
    CHECK(holds(stage.failure(), "too much together"));
    CHECK(stage.resumptions.size() == 5);
}

TEST_CASE("a server of 2026-07-28, which has no resumption, is not asked to go on")
{
    upstream_stage stage(true);
    stage.other.on["tools/call"] = [](const heard&) { return as_events(event_with_id("e-1", "")); };
    CHECK(holds(stage.failure(), "ended its answer without a result"));
    CHECK(stage.other.count("GET") == 0);
}

TEST_CASE("a call that is cancelled between two streams is called off at the server")
{
    breaking_stage stage("id: e-1\nretry: 60000\ndata:\n\n");
    stage.tools();
    canceller ends;
    bool done = false;
    asio::co_spawn(stage.io, stage.all().call("", "one", "echo", {}, {}),
                   asio::bind_cancellation_slot(ends.slot(), [&](std::exception_ptr, json::object) { done = true; }));
    while (stage.other.count("tools/call") == 0) stage.io.run_one();
    ends.cancel();
    while (!done || stage.other.count("notifications/cancelled") == 0) stage.io.run_one();
    CHECK(stage.resumptions.empty());
}
