#include "sandboxes/tool_rights.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;

namespace {

settings with_tools(std::string list, std::size_t calls = 3)
{
    settings config;
    config.sandbox_tools = {std::move(list)};
    config.sandbox_tools_calls = calls;
    return config;
}

caller caller_with(scope_set scopes)
{
    caller who;
    who.principal = "ann";
    who.scopes = scopes;
    return who;
}

}  // namespace

TEST_CASE("a ticket is worth something in its own sandbox, until its last copy goes", "[code]")
{
    const auto config = with_tools("all");
    tool_rights rights(config);
    auto mine = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    const std::string text = mine.text();
    REQUIRE(text.size() >= 40);
    REQUIRE(rights.login_of(text, "sbx_a"));
    CHECK(rights.login_of(text, "sbx_a")->principal == "ann");
    CHECK(rights.login_of(text, "sbx_a")->credential == "code in sbx_a");
    CHECK_FALSE(rights.login_of(text, "sbx_b"));
    CHECK_FALSE(rights.login_of("", "sbx_a"));
    CHECK_FALSE(rights.login_of(text + "0", "sbx_a"));
    auto copy = mine;
    mine = {};
    CHECK(rights.login_of(text, "sbx_a"));
    copy = {};
    CHECK_FALSE(rights.login_of(text, "sbx_a"));
    CHECK_FALSE(rights.take_call(text));
}

TEST_CASE("each run may make so many calls", "[code]")
{
    const auto config = with_tools("all", 2);
    tool_rights rights(config);
    const auto one = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    const auto other = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    CHECK(one.text() != other.text());
    CHECK(rights.take_call(one.text()));
    CHECK(rights.take_call(one.text()));
    CHECK_FALSE(rights.take_call(one.text()));
    CHECK(rights.take_call(other.text()));
}

// Its programs can read the tickets of the runs that come after them.
TEST_CASE("in a sandbox where a caller with fewer scopes has run something, nobody's code has more", "[code]")
{
    const auto config = with_tools("all");
    tool_rights rights(config);
    const auto all = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    CHECK(rights.login_of(all.text(), "sbx_a")->scopes.covers(scope::web));
    auto fewer = rights.give(caller_with(scope_set(scope::run) | scope::files), "sbx_a");
    for (const auto& each : {all.text(), fewer.text()}) {
        CHECK_FALSE(rights.login_of(each, "sbx_a")->scopes.covers(scope::web));
        CHECK(rights.login_of(each, "sbx_a")->scopes.covers(scope::files));
        CHECK(rights.login_of(each, "sbx_a")->scopes.covers(scope::read));
    }
    fewer = {};
    const auto later = rights.give(caller_with(scope_set::all()), "sbx_a");
    CHECK_FALSE(rights.login_of(later.text(), "sbx_a")->scopes.covers(scope::web));
    CHECK_FALSE(rights.login_of(later.text(), "sbx_a")->scopes.covers(scope::admin));
    const auto elsewhere = rights.give(caller_with(scope_set::all()), "sbx_b");
    CHECK(rights.login_of(elsewhere.text(), "sbx_b")->scopes.covers(scope::admin));
    rights.forget("sbx_a");
    CHECK(rights.login_of(all.text(), "sbx_a")->scopes.covers(scope::web));
}

// Its keys run with the ticket of the shell that another caller opened.
TEST_CASE("a caller with fewer scopes who types in a shell takes them from the shell's ticket", "[code]")
{
    const auto config = with_tools("all");
    tool_rights rights(config);
    const auto shell = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    rights.limit_to(caller_with(scope_set(scope::run)), "sbx_b");
    CHECK(rights.login_of(shell.text(), "sbx_a")->scopes.covers(scope::web));
    rights.limit_to(caller_with(scope_set::all()), "sbx_a");
    CHECK_FALSE(rights.login_of(shell.text(), "sbx_a")->scopes.covers(scope::admin));
    rights.limit_to(caller_with(scope_set(scope::run)), "sbx_a");
    CHECK_FALSE(rights.login_of(shell.text(), "sbx_a")->scopes.covers(scope::web));
    CHECK(rights.login_of(shell.text(), "sbx_a")->scopes.covers(scope::run));
}

TEST_CASE("where no tools are offered, nobody gets a ticket", "[code]")
{
    const auto config = with_tools("none");
    tool_rights rights(config);
    CHECK_FALSE(rights.offered());
    CHECK(rights.give(caller_with(scope_set::all()), "sbx_a").text().empty());
}

TEST_CASE("a ticket says where code runs, and reaches its own sandbox alone unless the settings open more", "[code]")
{
    auto config = with_tools("all");
    tool_rights rights(config);
    const auto mine = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    const auto code_of_ticket = [&] { return *rights.login_of(mine.text(), "sbx_a")->code; };
    CHECK(code_of_ticket().sandbox == "sbx_a");
    CHECK_FALSE(code_of_ticket().network);
    CHECK(may_use(code_of_ticket(), "sbx_a"));
    CHECK_FALSE(may_use(code_of_ticket(), "sbx_b"));
    CHECK_FALSE(code_of_ticket().default_sandbox);
    config.sandbox_tools_reach_out = {"sandboxes"};  // as a reload does it
    CHECK(may_use(code_of_ticket(), "sbx_b"));
    config.sandbox_tools_reach_out = {"workspace"};
    CHECK_FALSE(may_use(code_of_ticket(), "sbx_b"));
    CHECK(code_of_ticket().default_sandbox);
    config.sandbox_tools_reach_out = {"network", "workspace"};
    CHECK(code_of_ticket().network);
    config.sandbox_tools_reach_out = {"none"};
    CHECK_FALSE(code_of_ticket().network);
    CHECK_FALSE(code_of_ticket().default_sandbox);
}

TEST_CASE("a client may use all that belongs to its principal", "[code]")
{
    auto who = caller_with(scope_set::ordinary());
    CHECK(may_use(who, "sbx_a"));
    who.code = std::make_shared<calling_code>(calling_code{"sbx_a", true, false, false, {}});
    CHECK(may_use(who, "sbx_a"));
    CHECK_FALSE(may_use(who, "sbx_b"));
}

TEST_CASE("the way out that a ticket leads to is that of its own sandbox", "[code]")
{
    const auto config = with_tools("all");
    tool_rights rights(config);
    std::string led_to;
    rights.lead_out_by([&](const std::string& sandbox) {
        led_to = sandbox;
        return std::shared_ptr<egress_ticket>();
    });
    const auto mine = rights.give(caller_with(scope_set::ordinary()), "sbx_a");
    rights.login_of(mine.text(), "sbx_a")->code->way_out();
    CHECK(led_to == "sbx_a");
}
