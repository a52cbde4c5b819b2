#include "http/member_caller.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("what a member says of a caller is read as it was written")
{
    auto who = std::make_shared<login>();
    who->principal = "ann \"x\"";
    who->credential = "key 3f";
    who->scopes = scope_set(scope::run) | scope::files;
    who->profile = "agent";
    who->from = login::source::issuer;
    member_caller said;
    said.who = who;
    said.address = "10.0.0.1";
    said.host = "example.org";
    said.secure = true;
    const auto read = read_member_caller(written(said));
    REQUIRE(read);
    REQUIRE(read->who);
    CHECK(read->who->principal == who->principal);
    CHECK(read->who->credential == who->credential);
    CHECK(read->who->scopes == who->scopes);
    CHECK(read->who->profile == who->profile);
    CHECK(read->who->from == who->from);
    CHECK(read->address == said.address);
    CHECK(read->host == said.host);
    CHECK(read->secure);
    CHECK_FALSE(read->of_message);
}

TEST_CASE("a message that a member has taken is told apart from a request that it passes on")
{
    member_caller said;
    said.of_message = true;
    said.address = "member n1";
    said.revision = "2025-06-18";
    said.profile = "agent";
    said.server = "https://example.org/prefix";
    said.is_program = true;
    const auto read = read_member_caller(written(said));
    REQUIRE(read);
    CHECK_FALSE(read->who);
    CHECK(read->of_message);
    CHECK(read->revision == said.revision);
    CHECK(read->profile == said.profile);
    CHECK(read->server == said.server);
    CHECK(read->is_program);
}

TEST_CASE("other texts say nothing of a caller")
{
    for (const auto* text : {"", "e30", "bm8", "====", "{}", "eyJhIjoxfQ"}) CHECK_FALSE(read_member_caller(text));
}
