#include "test/support/catch.hpp"

#include "load/failure.hpp"
#include "load/message_skim.hpp"
#include "load/server_check.hpp"

using namespace cmcp::load;

TEST_CASE("a progress notification is output, or a heartbeat where it has no message")
{
    auto output = skim_progress(R"({"progressToken":1,"progress":3.5,"message":"a\n\u00e9\ud83d\ude00","_meta":)"
                                R"({"container-mcp/stream":"stderr","container-mcp/offset":12}})");
    CHECK(output.output);
    CHECK(output.stderr_stream);
    CHECK(output.offset == 12);
    CHECK(output.bytes == 8);
    auto plain = skim_progress(
        R"({"progress":1,"message":"x","_meta":{"container-mcp/stream":"stdout","container-mcp/offset":0}})");
    CHECK_FALSE(plain.stderr_stream);
    CHECK(plain.offset == 0);
    auto foreign = skim_progress(R"({"progress":1,"message":"half done"})");
    CHECK(foreign.output);
    CHECK_FALSE(foreign.offset);
    CHECK_FALSE(skim_progress(R"({"progressToken":1,"progress":10000})").output);
    CHECK_FALSE(skim_progress(R"({"progress":1,"message":""})").output);
    CHECK_FALSE(skim_progress("").output);
}

TEST_CASE("a progress notification brings as many bytes as its message has in UTF-8")
{
    const auto bytes = [](std::string_view raw) {
        return skim_progress("{\"message\":\"" + std::string(raw) + "\"}").bytes;
    };
    CHECK(bytes("plain") == 5);
    CHECK(bytes(R"(\"\\\/\n)") == 4);
    CHECK(bytes(R"(\u0041\u00e9\u20ac)") == 6);
    CHECK(bytes(R"(\ud83d\ude00)") == 4);
    CHECK(bytes("é") == 2);
    CHECK(bytes(R"(cut\u00)") == 4);
}

TEST_CASE("a run that failed is seen in the structured result, or in the text of a revision without it")
{
    CHECK(tells_of_failed_run(R"({"content":[],"structuredContent":{"exit_code":3,"success":false}})"));
    CHECK(tells_of_failed_run(R"({"structuredContent":{"stdout":"","exit_code":null,"success":false}})"));
    CHECK(tells_of_failed_run(R"({"structuredContent":{"exit_code":-9}})"));
    CHECK_FALSE(
        tells_of_failed_run(R"({"structuredContent":{"exit_code":0,"success":true,"nested":{"success":false}}})"));
    CHECK_FALSE(tells_of_failed_run(
        R"({"content":[{"type":"text","text":"{\"exit_code\":1}"}],"structuredContent":{"exit_code":0}})"));
    CHECK(tells_of_failed_run(
        R"({"content":[{"type":"text","text":"{\"stdout\":\"\",\"exit_code\":2,\"success\":false}"}]})"));
    CHECK(tells_of_failed_run(R"({"content":[{"type":"text","text":"{\n  \"success\": false\n}"}]})"));
    CHECK_FALSE(tells_of_failed_run(R"({"content":[{"type":"text","text":"{\"exit_code\":0,\"success\":true}"}]})"));
    CHECK_FALSE(tells_of_failed_run(R"({"content":[{"type":"text","text":"success: false"}]})"));
    CHECK(tells_of_failed_run(
        R"({"content":[{"type":"text","text":"{\"stdout\":\"x\\\\ny \u00e9\",\"exit_code\":1}"}]})"));
    CHECK_FALSE(tells_of_failed_run(R"({"content":[{"type":"text","text":"{\"exit_code\":1\ud800}"}]})"));
    CHECK_FALSE(tells_of_failed_run(R"({"content":[]})"));
}

TEST_CASE("the text of a failure is what the server said")
{
    CHECK(failure_text(R"({"id":1,"error":{"code":-32602,"message":"Unknown tool: nope"}})") == "Unknown tool: nope");
    CHECK(failure_text(R"({"id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}})") ==
          "no such file");
    CHECK(failure_text(R"({"id":1,"result":{"structuredContent":{"exit_code":3,"stderr":"oops\n","stdout":"x"}}})") ==
          "exit code 3: oops");
    CHECK(failure_text(R"({"id":1,"result":{"content":[{"type":"text","text":"{\"error\":\"too long\"}"}]}})") ==
          "too long");
    CHECK(failure_text(R"({"error":"no token"})") == "no token");
    CHECK(failure_text("<html>\r\n<b>502 Bad\x1b[31m Gateway</b>") == "<html> <b>502 Bad [31m Gateway</b>");
    CHECK(failure_text("").empty());
    CHECK(one_line(std::string(1000, 'x')).size() == 240 + std::string("…").size());
}

TEST_CASE("the error type of a tool's result is a word, in the structured result or in the text of an older revision")
{
    CHECK(error_type(R"({"result":{"isError":true,"structuredContent":{"error_type":"NodeUnreachable"}}})") ==
          "NodeUnreachable");
    CHECK(error_type(R"({"result":{"content":[{"type":"text","text":"{\"error_type\":\"NodeCutOff\"}"}]}})") ==
          "NodeCutOff");
    CHECK(error_type(R"({"result":{"structuredContent":{"error_type":"no word"}}})").empty());
    CHECK(error_type(R"({"result":{"structuredContent":{"error_type":")" + std::string(41, 'x') + "\"}}}").empty());
    CHECK(error_type(R"({"result":{"structuredContent":{"error_type":5}}})").empty());
    CHECK(error_type(R"({"result":{"content":[{"type":"text","text":"no such file"}]}})").empty());
    CHECK(error_type(R"({"error":{"code":-32602,"message":"no"}})").empty());
    CHECK(error_type("<html>").empty());
}

TEST_CASE("failures are counted by kind, with the first text of each")
{
    failure_counts counts, others;
    counts.add({"timeout", {}});
    counts.add({"tool error", "first"});
    counts.add({"tool error", "second"});
    others.add({"timeout", "late"}, 3);
    counts.merge(others);
    CHECK(counts.sum() == 6);
    CHECK(counts.kinds().at("tool error").count == 2);
    CHECK(counts.kinds().at("tool error").first_text == "first");
    CHECK(counts.kinds().at("timeout").first_text == "late");
}

TEST_CASE("an answer to initialize names the revision")
{
    CHECK(agreed_revision(R"({"protocolVersion":"2025-03-26","capabilities":{}})") == "2025-03-26");
    CHECK(agreed_revision(R"({"capabilities":{}})").empty());
}

TEST_CASE("the nearest names come first")
{
    CHECK(name_nearest("file_raed", {"system_info", "file_write", "file_read", "file_list"}) ==
          "file_read, file_write, file_list");
    CHECK(name_nearest("x", {"only"}) == "only");
}
