#include "mcp/tool_profiles.hpp"
#include "test/protocol/mcp/tools_for_tests.hpp"
#include "test/support/catch.hpp"

using namespace cmcp;
using namespace cmcp::test;

namespace {

caller someone(std::string principal, std::string profile = {})
{
    caller who;
    who.principal = std::move(principal);
    who.profile = std::move(profile);
    return who;
}

tool_profiles two_profiles()
{
    tool_profiles profiles;
    profiles.define("all", {"*"});
    profiles.define("files", {"file_*"});
    return profiles;
}

std::vector<std::string> names_in(const json::object& response)
{
    std::vector<std::string> names;
    for (const auto& each : result_of(response).at("tools").as_array())
        names.emplace_back(each.as_object().at("name").as_string());
    return names;
}

}  // namespace

TEST_CASE("a word means a tool by its name, by stars or as a profile")
{
    const auto profiles = two_profiles();
    CHECK(profiles.means("file_read", "file_read"));
    CHECK_FALSE(profiles.means("file_read", "file_reader"));
    CHECK_FALSE(profiles.means("file_reader", "file_read"));
    CHECK(profiles.means("*_read", "file_read"));
    CHECK(profiles.means("f*e_*d", "file_read"));
    CHECK(profiles.means("*ab*abc*", "abababc"));
    CHECK_FALSE(profiles.means("*ab*abc", "ababab"));
    CHECK(profiles.means("files", "file_read"));
    CHECK_FALSE(profiles.means("files", "web_search"));
    CHECK_FALSE(profiles.means("", "file_read"));
    CHECK(profiles.names() == "all, files");
}

TEST_CASE("the address comes before the principal's profile, and that before the usual tools")
{
    auto profiles = two_profiles();
    CHECK(profiles.shows(someone(""), "anything"));
    CHECK_FALSE(profiles.by_principal());
    profiles.show({"web_search", "job_*"});
    profiles.show_to("anna", "files");
    CHECK(profiles.by_principal());
    CHECK(profiles.shows(someone("ben"), "job_list"));
    CHECK_FALSE(profiles.shows(someone("ben"), "file_read"));
    CHECK(profiles.shows(someone("anna"), "file_read"));
    CHECK_FALSE(profiles.shows(someone("anna"), "job_list"));
    CHECK(profiles.shows(someone("anna", "all"), "job_list"));
    CHECK(profiles.shows(someone("ben", "files"), "file_read"));
    CHECK_FALSE(profiles.shows(someone("ben", "files"), "job_list"));
}

TEST_CASE("a tool that the profile does not list is called by its name")
{
    harness server;
    server.core.tools().profiles().define("few", {"ech*"});
    server.core.tools().profiles().show({"few"});
    add(server, "echo", echo);
    add(server, "other", echo);
    server.initialize();
    CHECK(names_in(server.request("tools/list")) == std::vector<std::string>{"echo"});
    CHECK(names_in(server.modern("tools/list")) == std::vector<std::string>{"echo"});
    const auto called = server.request("tools/call", parse(R"({"name":"other","arguments":{"said":"hello"}})"));
    CHECK(result_of(called).at("structuredContent").at("said") == "hello");
}

TEST_CASE("a list that depends on the principal is cached for that principal alone")
{
    harness server;
    CHECK(result_of(server.modern("tools/list")).at("cacheScope").as_string() == "public");
    server.core.tools().profiles().define("none", {});
    server.core.tools().profiles().show_to("anna", "none");
    CHECK(result_of(server.modern("tools/list")).at("cacheScope").as_string() == "private");
    CHECK(result_of(server.modern("server/discover")).at("cacheScope").as_string() == "private");
}
