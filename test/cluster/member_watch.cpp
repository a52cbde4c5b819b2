#include "cluster/member_watch.hpp"
#include "test/cluster/three_servers.hpp"
#include "test/support/catch.hpp"
#include "test/support/tls_peer.hpp"

using namespace cmcp;
using namespace cmcp::test;
using namespace std::chrono_literals;

namespace {

bool all_in_touch(three_servers& all)
{
    return eventually([&] { return all.is_in_touch("n1") && all.is_in_touch("n2") && all.is_in_touch("n3"); });
}

const std::string beat = "POST /member/beat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n";
const std::string vote = "POST /member/vote?about=n3 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n";
const std::string changed = "POST /member/changed?list=tools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n";

}  // namespace

TEST_CASE("members are cut off at first, look at what others have, and are in touch then")
{
    three_servers all;
    CHECK_FALSE(all.is_in_touch("n1"));
    REQUIRE(all_in_touch(all));
    CHECK(all.calls("n1") == std::vector<std::string>{"in_touch"});
    CHECK(eventually([&] { return all.figures().find("cmcp_members_in_touch 2") != std::string::npos; }));
}

TEST_CASE("two members agree that the third one is gone, and do not while it answers")
{
    three_servers all;
    REQUIRE(all_in_touch(all));
    CHECK_FALSE(all.is_gone("n1", "n3", 20s));
    all.stop("n3");
    CHECK(all.is_gone("n1", "n3", 20s));
    CHECK(all.is_gone("n1", "n3", 0s));
    CHECK(all.is_in_touch("n1"));
    all.start("n3");
    CHECK(eventually([&] { return !all.is_gone("n1", "n3", 0s); }));
}

TEST_CASE("a member promises something only where it agrees that another one is gone")
{
    three_servers all;
    REQUIRE(all_in_touch(all));
    CHECK_FALSE(all.is_gone("n1", "n3", 20s));
    CHECK_FALSE(all.has_promised("n1"));
    CHECK_FALSE(all.has_promised("n2"));
    all.stop("n3");
    CHECK(all.is_gone("n1", "n3", 20s));
    CHECK(all.has_promised("n1"));
    CHECK(all.has_promised("n2"));
}

TEST_CASE("a member without the others is cut off, has no verdict, and looks again before it is in touch")
{
    three_servers all;
    REQUIRE(all_in_touch(all));
    all.stop("n2");
    all.stop("n3");
    REQUIRE(eventually([&] { return all.calls("n1").size() == 2; }));
    CHECK_FALSE(all.is_in_touch("n1"));
    CHECK_FALSE(all.is_gone("n1", "n3", 300ms));
    all.start("n2");
    REQUIRE(eventually([&] { return all.is_in_touch("n1"); }));
    CHECK(all.calls("n1") == std::vector<std::string>{"in_touch", "cut_off", "in_touch"});
}

TEST_CASE("a look that fails is taken again, and the member is not in touch before")
{
    three_servers all;
    all.fail_looks("n1", 2);
    REQUIRE(all_in_touch(all));
    CHECK(all.calls("n1") == std::vector<std::string>{"failed", "failed", "in_touch"});
}

TEST_CASE("beats, votes and changes of lists are taken at the members' port alone, from members")
{
    three_servers all;
    for (const auto& question : {beat, vote, changed}) {
        raw_client client(all.port("n1"));
        CHECK(client.request(question + "Authorization: Bearer token-of-ann-0123456789\r\n\r\n").status == 404);
        CHECK(client.request(question + "\r\n").status == 404);
    }
    const auto stranger = all.files.signed_by(all.authority, "n9", "n9", "DNS:n9");
    const auto ask = [&](const std::string& name, const std::string& question) {
        tls_peer::terms terms;
        terms.certificate = name == "n9" ? stranger : all.certificate(name);
        tls_peer peer(connected_to(all.entrance("n1")), terms);
        peer.send(question + "\r\n");
        return peer.answer();
    };
    REQUIRE(eventually([&] { return ask("n2", beat).ends_with(R"({"yes":true})"); }));
    CHECK(ask("n1", beat).ends_with(R"({"yes":false})"));
    CHECK(ask("n9", beat).ends_with(R"({"yes":false})"));
    all.stop("n3");
    REQUIRE(eventually([&] { return ask("n2", vote).ends_with(R"({"yes":true})"); }));
    CHECK(ask("n3", vote).ends_with(R"({"yes":false})"));
    CHECK(ask("n9", vote).ends_with(R"({"yes":false})"));
    CHECK(ask("n3", beat).ends_with(R"({"yes":false})"));
}
