#include "cluster/member_answer.hpp"
#include "http/route.hpp"
#include "test/support/catch.hpp"

#include <utility>
#include <vector>

using namespace cmcp;

namespace {

relayed_answer_head page_of_a_member()
{
    relayed_answer_head answer;
    answer.result(200);
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"Content-Type", "text/html"},
                                                          {"Content-Disposition", "attachment; filename=a.txt"},
                                                          {"ETag", "\"1\""},
                                                          {"Set-Cookie", "cmcp_session=of-the-member"},
                                                          {"Set-Cookie", "wide=1; Domain=example.org"},
                                                          {"Content-Security-Policy", "default-src *"},
                                                          {"X-Content-Type-Options", "sniff"},
                                                          {"Access-Control-Allow-Origin", "*"},
                                                          {"Access-Control-Allow-Credentials", "true"},
                                                          {"Location", "https://evil.test/"},
                                                          {"Refresh", "0; url=https://evil.test/"},
                                                          {"Link", "<https://evil.test/a.css>; rel=stylesheet"},
                                                          {"Clear-Site-Data", "\"*\""},
                                                          {"WWW-Authenticate", "Basic realm=x"},
                                                          {"Service-Worker-Allowed", "/"},
                                                          {"Strict-Transport-Security", "max-age=1"},
                                                          {"cmcp-member-place", "n3"}})
        answer.insert(name, value);
    return answer;
}

bool has(const std::string& head, std::string_view part) { return head.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("of a member's answer only fields pass that concern the answer, and its page runs nothing")
{
    route file;
    http_request request;
    request.target = &file;
    const auto head = head_of_member_answer(page_of_a_member(), request);
    for (const auto* passed :
         {"HTTP/1.1 200 OK\r\n", "Content-Type: text/html\r\n", "ETag: \"1\"\r\n",
          "Content-Disposition: attachment; filename=a.txt\r\n",
          "Content-Security-Policy: sandbox; default-src 'none'\r\n", "X-Content-Type-Options: nosniff\r\n"})
        CHECK(has(head, passed));
    for (const auto* kept_out : {"Set-Cookie", "default-src *", "sniff\r\nX", "Access-Control", "evil.test",
                                 "Clear-Site", "WWW-Auth", "Service-Worker", "Strict-Transport", "cmcp-member"})
        CHECK_FALSE(has(head, kept_out));
}

TEST_CASE("a preview at another member has the rules of previews, below a path and on an origin of its own")
{
    route preview;
    preview.relays = true;
    preview.claims = [](const http_request& by) { return by.header("host") == "p1.preview.test"; };
    http_request request;
    request.target = &preview;
    request.fields = {{"host", "server.test"}};
    const auto below = head_of_member_answer(page_of_a_member(), request);
    CHECK(has(below, "Content-Security-Policy: sandbox allow-scripts"));
    CHECK_FALSE(has(below, "Set-Cookie"));
    CHECK_FALSE(has(below, "Clear-Site"));
    request.fields = {{"host", "p1.preview.test"}};
    const auto own = head_of_member_answer(page_of_a_member(), request);
    CHECK(has(own, "Set-Cookie: cmcp_session=of-the-member\r\n"));
    CHECK_FALSE(has(own, "wide=1"));
    CHECK_FALSE(has(own, "Strict-Transport"));
    CHECK_FALSE(has(own, "cmcp-member"));
}
