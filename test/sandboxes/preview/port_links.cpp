#include "preview/port_links.hpp"
#include "sandboxes/sandbox_manager.hpp"
#include "test/support/catch.hpp"

#include <chrono>
#include <memory>

namespace cmcp {
namespace {

const std::string one = "sbx_node_0123456789abcdef0123456789abcdef";
const std::string two = "sbx_node_ffffffffffffffff0123456789abcdef";

struct link_stage {
    asio::io_context io;
    port_links links{io.get_executor()};
    sandbox_activities activities;
};

}  // namespace

TEST_CASE("a token opens the port that it was made for and no other", "[preview]")
{
    link_stage s;
    const port_link link = s.links.show("ann", one, 8000, std::chrono::seconds(60));
    s.links.show("ann", one, 8001, std::chrono::seconds(60));
    s.links.show("ann", two, 8000, std::chrono::seconds(60));
    const auto opened = s.links.find(link.token);
    REQUIRE(opened);
    CHECK(opened->port == 8000);
    CHECK(opened->sandbox == one);
    CHECK(opened->owner == "ann");
    std::string text = link.token;
    for (std::size_t i = 0; i != text.size(); ++i) {
        const char original = text[i];
        text[i] = original == '0' ? '1' : '0';
        INFO(text);
        CHECK_FALSE(s.links.find(text));
        text[i] = original;
    }
    for (const std::string& wrong : {std::string(), std::string("...."), link.token + ".", link.token.substr(1)})
        CHECK_FALSE(s.links.find(wrong));
}

TEST_CASE("tokens of another life of the server are no tokens", "[preview]")
{
    link_stage first, second;
    const port_link link = first.links.show("ann", one, 8000, std::chrono::seconds(60));
    second.links.show("ann", one, 8000, std::chrono::seconds(60));
    CHECK_FALSE(second.links.find(link.token));
}

TEST_CASE("a link ends when it is withdrawn, replaced and when its time is over", "[preview]")
{
    link_stage s;
    const port_link former = s.links.show("ann", one, 8000, std::chrono::seconds(60));
    const port_link latter = s.links.show("ann", one, 8000, std::chrono::seconds(60));
    CHECK_FALSE(s.links.find(former.token));
    CHECK(s.links.of(one).size() == 1);
    CHECK(s.links.withdraw(one, 8000));
    CHECK_FALSE(s.links.withdraw(one, 8000));
    CHECK_FALSE(s.links.find(latter.token));
    const port_link over = s.links.show("ann", one, 8000, std::chrono::seconds(0));
    CHECK_FALSE(s.links.find(over.token));
    s.io.run();
    CHECK(s.links.of(one).empty());
}

TEST_CASE("a sandbox has at most so many links, and a link so many connections", "[preview]")
{
    link_stage s;
    for (std::uint16_t port = 1; port <= port_links::most_of_sandbox; ++port)
        s.links.show("ann", one, port, std::chrono::seconds(60));
    CHECK_THROWS_AS(s.links.show("ann", one, 9999, std::chrono::seconds(60)), sandbox_error);
    const port_link link = s.links.show("ann", one, 1, std::chrono::seconds(60));
    std::vector<std::shared_ptr<sandbox_activities::entry>> open;
    for (std::size_t i = 0; i != port_links::most_uses; ++i) {
        open.push_back(s.activities.begin(one));
        CHECK(s.links.use(link, open.back()));
    }
    CHECK_FALSE(s.links.use(link, s.activities.begin(one)));
    open.pop_back();
    CHECK(s.links.use(link, s.activities.begin(one)));
}

TEST_CASE("the connections of a link end with it", "[preview]")
{
    link_stage s;
    const port_link link = s.links.show("ann", one, 8000, std::chrono::seconds(60));
    const auto connection = s.activities.begin(one);
    s.links.use(link, connection);
    s.links.withdraw(one, 8000);
    CHECK_THROWS_AS(connection->check(), sandbox_error);
    const port_link short_link = s.links.show("ann", one, 8000, std::chrono::seconds(0));
    const auto other = s.activities.begin(one);
    s.links.use(short_link, other);
    s.io.run();
    CHECK_THROWS_AS(other->check(), sandbox_error);
}

}  // namespace cmcp
