#include "test/support/catch.hpp"

#include "load/message_skim.hpp"
#include "load/response_parser.hpp"
#include "text/sse_parser.hpp"

#include <string>
#include <vector>

using namespace cmcp::load;

namespace {

struct answers {
    response_parser parser{{[this](const response_head& head) { heads.push_back(head); },
                            [this](std::string_view piece) { body.append(piece); },
                            [this] { bodies.push_back(std::exchange(body, {})); }}};
    std::vector<response_head> heads;
    std::string body;
    std::vector<std::string> bodies;
};

const std::string two_answers =
    "HTTP/1.1 100 Continue\r\n\r\n"
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: abc\r\n\r\n"
    "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\nConnection: close\r\nX-Served-By: n2\r\n\r\nbusy";

}  // namespace

TEST_CASE("answers are read whatever the pieces they come in")
{
    for (std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, two_answers.size()}) {
        answers got;
        for (std::size_t at = 0; at < two_answers.size(); at += piece)
            REQUIRE(got.parser.feed(std::string_view(two_answers).substr(at, piece)));
        REQUIRE(got.bodies == std::vector<std::string>{"hello world", "busy"});
        CHECK(got.heads[0].events);
        CHECK(got.heads[0].session == "abc");
        CHECK(got.heads[0].served_by.empty());
        CHECK(got.heads[1].status == 503);
        CHECK(got.heads[1].served_by == "n2");
        CHECK(got.heads[1].close);
        CHECK_FALSE(got.heads[1].events);
    }
}

TEST_CASE("an answer without a length ends with its connection")
{
    answers got;
    REQUIRE(got.parser.feed("HTTP/1.1 200 OK\r\n\r\nall of it"));
    CHECK(got.bodies.empty());
    CHECK(got.parser.closed());
    CHECK(got.bodies == std::vector<std::string>{"all of it"});
}

TEST_CASE("a connection that ends amid an answer is told apart")
{
    answers got;
    REQUIRE(got.parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    CHECK_FALSE(got.parser.closed());
    CHECK(got.bodies.empty());
}

TEST_CASE("a handler may drop the connection amid an answer")
{
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";
    for (const std::string_view at : {"head", "body", "end"}) {
        response_parser* parser = nullptr;
        std::string parts;
        const auto tell = [&](std::string_view what) {
            parts.append(what).append(" ");
            if (what == at) parser->reset();
        };
        response_parser dropped({[&](const response_head&) { tell("head"); }, [&](std::string_view) { tell("body"); },
                                 [&] { tell("end"); }});
        parser = &dropped;
        CHECK(dropped.feed(answer + answer));
        CHECK(parts == std::string("head body end ").substr(0, parts.size()));
        CHECK(parts.ends_with(std::string(at) + " "));
        parts.clear();
        CHECK(dropped.feed(answer));
        CHECK(parts.starts_with("head "));
    }
}

TEST_CASE("an answer without a body, and a header or chunk header that never ends")
{
    answers got;
    REQUIRE(got.parser.feed("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"));
    CHECK(got.bodies.size() == 2);
    CHECK(got.parser.closed());
    CHECK_FALSE(got.parser.feed("HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x')));
    got.parser.reset();
    REQUIRE(got.parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
    CHECK_FALSE(got.parser.feed("1;" + std::string(200'000, 'x')));
}

TEST_CASE("what is not HTTP is refused")
{
    answers got;
    CHECK_FALSE(got.parser.feed("SSH-2.0-OpenSSH\r\n"));
}

TEST_CASE("events are read whatever the pieces and line ends")
{
    const std::string stream =
        ": comment\r\nevent: endpoint\r\ndata: /messages\r\n\r\ndata:one\ndata: two\n\nid: 3\n\ndata\r\rdata: last\n\n";
    for (std::size_t piece : {std::size_t{1}, std::size_t{3}, stream.size()}) {
        std::vector<std::pair<std::string, std::string>> events;
        sse_parser parser([&](std::string_view name, std::string_view data) { events.emplace_back(name, data); });
        for (std::size_t at = 0; at < stream.size(); at += piece)
            parser.feed(std::string_view(stream).substr(at, piece));
        REQUIRE(events ==
                std::vector<std::pair<std::string, std::string>>{
                    {"endpoint", "/messages"}, {"message", "one\ntwo"}, {"message", ""}, {"message", "last"}});
    }
}

TEST_CASE("a message is skimmed for what counts")
{
    auto good = skim_message(
        R"({"jsonrpc":"2.0","id":17,"result":{"content":[{"text":"\"error\":{\"code\":1}"}],"isError":false}})");
    CHECK(good.valid);
    CHECK(good.id == 17);
    CHECK(good.result.starts_with("{\"content\""));
    CHECK_FALSE(good.tool_error);
    CHECK_FALSE(good.error_code);
    CHECK(skim_message(R"({"id":1,"result":{"isError":true}})").tool_error);
    CHECK(skim_message(R"( { "id" : 2 , "error" : { "message" : "}" , "code" : -32000 } } )").error_code == -32000);
    CHECK(skim_message(R"({"method":"notifications/progress","params":{}})").method == "notifications/progress");
    CHECK_FALSE(skim_message(R"({"id":1)").valid);
    CHECK_FALSE(skim_message(R"({"id":1,"a":"unended}})").valid);
    CHECK_FALSE(skim_message("").valid);
    CHECK_FALSE(skim_message("[]").valid);
}
