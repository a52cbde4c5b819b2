#include "async/task_group.hpp"
#include "etcd/etcd_client.hpp"
#include "test/support/catch.hpp"
#include "test/support/etcd_server.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

struct stage {
    template <class T>
    T run(awaitable<T> work)
    {
        return test::run_coroutine(io, std::move(work));
    }

    template <class Condition>
    bool until(Condition condition)
    {
        return test::holds_after(condition, [this] {
            io.restart();
            io.run_for(5ms);
        });
    }

    etcd_outcome put(std::string key, std::string value, std::int64_t lease = 0)
    {
        etcd_transaction what;
        what.put(key, value, lease);
        return run(client.commit(std::move(what)));
    }

    test::etcd_server etcd;
    settings config = etcd.settings_of("n1");
    asio::io_context io;
    etcd_client client{io.get_executor(), config, {}};
};

}  // namespace

TEST_CASE("what is put is read again, with any bytes")
{
    stage s;
    const std::string bytes("\0\xff/ä\n", 6);
    const auto outcome = s.put("a/" + bytes, bytes);
    CHECK(outcome.done);
    const auto entry = s.run(s.client.get("a/" + bytes));
    REQUIRE(entry);
    CHECK(entry->value == bytes);
    CHECK(entry->modified == outcome.revision);
    CHECK(entry->created == outcome.revision);
    CHECK_FALSE(s.run(s.client.get("b")));
    s.put("a0", "outside");
    CHECK(s.run(s.client.all_below("a/")).size() == 1);
}

TEST_CASE("a transaction is done where its conditions hold, and reads what is there in both cases")
{
    stage s;
    etcd_transaction first;
    first.if_absent("k").put("k", "1").read("k").read_below("k");
    const auto done = s.run(s.client.commit(first));
    CHECK(done.done);
    REQUIRE(done.first() != nullptr);
    CHECK(done.first()->value == "1");
    CHECK(done.read.at(1).size() == 1);
    const auto refused = s.run(s.client.commit(first));
    CHECK_FALSE(refused.done);
    CHECK(refused.first()->modified == done.revision);
    etcd_transaction change;
    change.if_modified_in("k", done.revision).remove("k").read("k");
    const auto removed = s.run(s.client.commit(change));
    CHECK(removed.done);
    CHECK(removed.first() == nullptr);
}

TEST_CASE("a put whose answer was lost is told from that of another")
{
    stage s;
    // Passes one question on, and loses its answer.
    asio::ip::tcp::acceptor between(s.io, {asio::ip::address_v4::loopback(), 0});
    const auto loses_answer = [&]() -> awaitable<> {
        auto asker = co_await between.async_accept(asio::use_awaitable);
        asio::ip::tcp::socket etcd(s.io);
        const asio::ip::tcp::endpoint place(asio::ip::address_v4::loopback(), s.etcd.port());
        co_await etcd.async_connect(place, asio::use_awaitable);
        char piece[16 * 1024];
        auto size = co_await asker.async_read_some(asio::buffer(piece), asio::use_awaitable);
        co_await asio::async_write(etcd, asio::buffer(piece, size), asio::use_awaitable);
        size = co_await etcd.async_read_some(asio::buffer(piece), asio::use_awaitable);
        CHECK(std::string_view(piece, size).starts_with("HTTP/1.1 200"));
    };
    asio::co_spawn(s.io, loses_answer(), asio::detached);
    auto config = s.config;
    config.cluster_etcd.insert(config.cluster_etcd.begin(),
                               "http://127.0.0.1:" + std::to_string(between.local_endpoint().port()));
    etcd_client client(s.io.get_executor(), config, {});
    CHECK(s.run(client.put_if_absent("k", "v")).done);
    CHECK_FALSE(s.run(client.put_if_absent("k", "v")).done);
    CHECK_FALSE(s.run(s.client.put_if_absent("k", "v")).done);
}

TEST_CASE("a lease takes its keys along")
{
    stage s;
    const auto lease = s.run(s.client.grant(60));
    CHECK(lease != 0);
    s.put("k", "v", lease);
    CHECK(s.run(s.client.get("k"))->lease == lease);
    s.run(s.client.revoke(lease));
    CHECK_FALSE(s.run(s.client.get("k")));
    CHECK_THROWS_AS(s.run(s.client.revoke(lease)), etcd_refusal);
    CHECK_THROWS_AS(s.put("k", "v", lease), etcd_refusal);
}

TEST_CASE("a watch tells what is there, each change, and all again after it was interrupted")
{
    stage s;
    s.put("w/a", "1");
    std::vector<std::string> heard;
    etcd_client::listener to;
    to.whole = [&](const std::vector<etcd_entry>& all) {
        std::string line = "all:";
        for (const auto& each : all) line += " " + each.key + "=" + each.value;
        heard.push_back(line);
    };
    to.changed = [&](const etcd_entry& entry, bool removed) {
        heard.push_back(removed ? "-" + entry.key : entry.key + "=" + entry.value);
    };
    to.ended = [&] { heard.push_back("ended"); };
    task_group tasks(s.io.get_executor());
    tasks.spawn("watch", s.client.watch("w/", to));
    const auto heard_last = [&](const std::string& line) {
        return s.until([&] { return !heard.empty() && heard.back() == line; });
    };
    REQUIRE(heard_last("all: w/a=1"));
    // The watch begins behind what was read, whenever it is made.
    s.put("w/b", "2");
    CHECK(heard_last("w/b=2"));
    s.put("x", "elsewhere");
    etcd_transaction end;
    end.remove("w/a");
    s.run(s.client.commit(std::move(end)));
    CHECK(heard_last("-w/a"));
    s.etcd.hold_up();
    CHECK_THROWS_AS(s.run(s.client.get("w/b")), etcd_away);
    CHECK_FALSE(s.client.is_there());
    CHECK(heard_last("ended"));
    s.etcd.go_on();
    CHECK(heard_last("all: w/b=2"));
    CHECK(std::ranges::count(heard, "x=elsewhere") == 0);
}

TEST_CASE("a member that refuses connections is left for the next one")
{
    stage s;
    auto config = s.config;
    config.cluster_etcd.insert(config.cluster_etcd.begin(), "http://127.0.0.1:1");
    etcd_client client(s.io.get_executor(), config, {});
    CHECK_FALSE(s.run(client.get("k")));
    CHECK(client.is_there());
}

TEST_CASE("nobody waits for etcd where it is known to be away")
{
    stage s;
    auto config = s.config;
    config.cluster_etcd = {"http://127.0.0.1:1"};
    etcd_client client(s.io.get_executor(), config, {});
    CHECK_FALSE(s.run(if_answered(client, client.get("k"))));
    CHECK_FALSE(client.is_there());
    CHECK_THROWS_AS(s.run(client.get("k")), etcd_away);
}

TEST_CASE("very many entries are read in one answer")
{
    stage s;
    for (int part = 0; part != 30; ++part) {
        etcd_transaction some;
        for (int i = 0; i != 100; ++i) some.put("many/" + std::to_string(part * 100 + i), std::string(100, 'x'));
        REQUIRE(s.run(s.client.commit(std::move(some))).done);
    }
    CHECK(s.run(s.client.all_below("many/")).size() == 3000);
}
