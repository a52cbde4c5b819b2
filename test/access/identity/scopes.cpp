#include "identity/scope.hpp"

#include "test/support/catch.hpp"

using namespace cmcp;

TEST_CASE("scopes include what they imply")
{
    CHECK(scope_set(scope::run).covers(scope::read));
    CHECK_FALSE(scope_set(scope::run).covers(scope::files));
    CHECK_FALSE(scope_set(scope::read).covers(scope::run));
    CHECK(scope_set(scope::admin).covers(scope_set::all()));
    CHECK_FALSE(scope_set::ordinary().covers(scope::admin));
    CHECK(scope_set().covers(scope_set()));
    CHECK_FALSE(scope_set().covers(scope::read));
}

TEST_CASE("scopes are read and written as tokens carry them")
{
    CHECK(scope_set::parse("openid mcp:run  mcp:nothing mcp:web").text() == "mcp:run mcp:web");
    CHECK(scope_set::parse("").empty());
    CHECK(scope_set::parse("mcp:runs amcp:run MCP:RUN").empty());
    CHECK(scope_set::ordinary().text() == "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web");
    CHECK(scope_set::parse(scope_set::ordinary().text()) == scope_set::ordinary());
    CHECK(scope_set::ordinary().without(scope::web).text() == "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages");
}
