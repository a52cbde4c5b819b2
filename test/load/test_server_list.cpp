#include "test/support/catch.hpp"

#include "load/server_list.hpp"

using namespace cmcp::load;
using namespace std::chrono_literals;

namespace {

const clock::time_point begin_of_list = clock::time_point(1h);

server_list list_of(std::size_t count)
{
    load_options options;
    options.servers.assign(count, parse_address("http://127.0.0.1:8000/mcp"));
    return {options, 1};
}

}  // namespace

TEST_CASE("a client uses its own server, and the next one while that is gone")
{
    auto servers = list_of(3);
    CHECK(servers.choose(1, begin_of_list) == 1);
    servers.failed(1, begin_of_list);
    CHECK(servers.choose(1, begin_of_list) == 2);
    servers.failed(2, begin_of_list);
    CHECK(servers.choose(1, begin_of_list) == 0);
    CHECK(servers.choose(0, begin_of_list) == 0);
    servers.answered(1);
    CHECK(servers.choose(1, begin_of_list) == 1);
}

TEST_CASE("where all servers are gone, a client stays with its own")
{
    auto servers = list_of(2);
    servers.failed(0, begin_of_list);
    servers.failed(1, begin_of_list);
    CHECK(servers.choose(1, begin_of_list) == 1);
    CHECK(servers.choose(0, begin_of_list) == 0);
}

TEST_CASE("a server that is gone is tried again after its back-off, by one client at a time")
{
    auto servers = list_of(2);
    servers.failed(0, begin_of_list);
    CHECK_FALSE(servers.claim(0, begin_of_list + 99ms));
    CHECK(servers.claim(0, begin_of_list + 100ms));
    CHECK_FALSE(servers.claim(0, begin_of_list + 10s));
    CHECK(servers.claim(1, begin_of_list + 10s));
}

TEST_CASE("the back-off doubles with each try, up to two seconds")
{
    auto servers = list_of(2);
    auto now = begin_of_list;
    servers.failed(0, now);
    for (auto back_off : {100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
        CHECK_FALSE(servers.claim(0, now + back_off - 1ms));
        now += back_off;
        REQUIRE(servers.claim(0, now));
        servers.failed(0, now);
    }
    servers.answered(0);
    servers.failed(0, now);
    CHECK(servers.claim(0, now + 100ms));
}

TEST_CASE("the calls that end with their server count as one failure of it")
{
    auto servers = list_of(2);
    for (int i = 0; i < 8; ++i) servers.failed(0, begin_of_list);
    CHECK(servers.claim(0, begin_of_list + 100ms));
}
