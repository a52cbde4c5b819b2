#include "http/member_caller.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("what a member says of a caller is read as it was written")
{
    auto who = std::make_shared<login>();
    who->principal = "ann@example.org";
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

TEST_CASE("a member cannot name a caller as none can be called")
{
    const auto read_with = [](std::string principal, std::string credential) {
        auto who = std::make_shared<login>();
        who->principal = std::move(principal);
        who->credential = std::move(credential);
        member_caller said;
        said.who = who;
        said.address = "10.0.0.1";
        return read_member_caller(written(said));
    };
    CHECK(read_with("", "no credentials"));
    CHECK(read_with("oauth-0123456789abcdef01234567", "issuer https://login.example.org"));
    CHECK(read_with(std::string(255, 'a'), "key 3f"));
    const std::string hostile[] = {
        "(upstream)", "(server)",   "ann b", "ann\nroot",           "ann\r\nx: y",          "\x1b[31m",
        "ann\x7f",    "\xc3\xa4nn", "ann\t", std::string(256, 'a'), std::string(9000, 'a'), std::string("ann\0b", 5)};
    for (const auto& each : hostile) CHECK_FALSE(read_with(each, "key 3f"));
    CHECK_FALSE(read_with("ann", "key 3f\nforged line"));
    CHECK_FALSE(read_with("ann", std::string(513, 'k')));
}

TEST_CASE("what a member says of an address is a line of text")
{
    member_caller said;
    said.address = "10.0.0.1\nforged";
    CHECK_FALSE(read_member_caller(written(said)));
    said.address = "10.0.0.1";
    said.host = std::string(600, 'h');
    CHECK_FALSE(read_member_caller(written(said)));
}
