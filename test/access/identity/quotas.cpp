#include "identity/quotas.hpp"

#include "config/setting_kinds.hpp"
#include "config/settings.hpp"
#include "identity/identity_store.hpp"
#include "identity/key_order.hpp"
#include "test/support/catch.hpp"
#include "test/support/run_coroutine.hpp"
#include "test/support/temporary_folder.hpp"

#include <stdexcept>

using namespace cmcp;
using namespace cmcp::test;

namespace {

using namespace std::chrono_literals;

struct stage {
    settings for_tests() const
    {
        settings all;
        all.sandbox_root = folder.path;
        all.auth_quotas = {"*:sandboxes=7"};
        return all;
    }

    void keep(const char* principal, const char* name, std::uint64_t value)
    {
        identity_store(identity_store::file_in(folder.path)).set_limit({principal, name, value});
    }

    temporary_folder folder;
    settings config = for_tests();
    quotas::clock::time_point now = quotas::clock::now();
    quotas limits{config, [this] { return now; }};
};

}  // namespace

TEST_CASE("a principal has everybody's limits, in their place those of AUTH_QUOTAS, and before both those of the store")
{
    stage s;
    s.config.auth_quotas = {"ann:sandboxes=3", "ann:disk=2", "bob:sandboxes=4"};
    s.keep("ann", "sandboxes", 5);
    s.keep("cid", "a name of a later version", 5);
    CHECK(s.limits.of("ann").sandboxes == 5);
    CHECK(s.limits.of("ann").disk == 2u << 20);
    CHECK(s.limits.of("bob").sandboxes == 4);
    CHECK(s.limits.of("cid").sandboxes == 7);
    CHECK(s.limits.of("").sandboxes == 7);
    CHECK(s.limits.refusal_in_words("ann", &principal_limits::sandboxes) == "your quota of sandboxes allows (5)");
    CHECK(s.limits.refusal_in_words("ann", &principal_limits::disk) == "your quota of disk allows (2 MiB)");
    CHECK(s.limits.refusal_in_words("cid", &principal_limits::sandboxes) == "AUTH_QUOTAS=*:sandboxes allows (7)");
}

TEST_CASE("a change of a quota counts within a second, also where there was no store")
{
    stage s;
    CHECK(s.limits.of("ann").runs == 0);
    s.keep("ann", "runs", 2);
    s.now += 1s;
    CHECK(s.limits.of("ann").runs == 2);
    identity_store store(identity_store::file_in(s.folder.path));
    CHECK(store.clear_limit("ann", "runs"));
    CHECK_FALSE(store.clear_limit("ann", "runs"));
    CHECK(s.limits.of("ann").runs == 2);
    s.now += 1s;
    CHECK(s.limits.of("ann").runs == 0);
}

TEST_CASE("of limits that other servers tell the latest change counts, also one that takes a limit back")
{
    temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    const auto value = [&] {
        const auto own = store.limits_of("ann");
        return own.empty() ? 0 : own.at(0).value;
    };
    CHECK(store.take_limit({"ann", "runs", 2, 100}));
    CHECK_FALSE(store.take_limit({"ann", "runs", 2, 100}));
    CHECK_FALSE(store.take_limit({"ann", "runs", 9, 99}));
    CHECK(value() == 2);
    CHECK(store.take_limit({"ann", "runs", 3, 100}));  // at the same moment
    CHECK_FALSE(store.take_limit({"ann", "runs", 2, 100}));
    CHECK(store.take_limit({"ann", "runs", 0, 101, true}));
    CHECK(value() == 0);
    CHECK_FALSE(store.take_limit({"ann", "runs", 3, 100}));
    store.set_limit({"ann", "runs", 4});
    CHECK(value() == 4);
    CHECK_FALSE(store.take_limit({"ann", "runs", 0, 101, true}));
}

TEST_CASE("a change here is later than one of another server whose clock is ahead")
{
    temporary_folder folder;
    identity_store store(identity_store::file_in(folder.path));
    constexpr double far_ahead = 4e9;
    store.take_limit({"ann", "runs", 2, far_ahead});
    store.set_limit({"ann", "runs", 5});
    CHECK(store.limit_changes().at(0).changed > far_ahead);
    CHECK(store.clear_limit("ann", "runs"));
    CHECK_FALSE(store.take_limit({"ann", "runs", 2, far_ahead}));
    CHECK(store.limits().empty());
    CHECK(store.limit_changes().at(0).cleared);
}

TEST_CASE("limits of a version that did not note when they changed count, and are not told to others")
{
    temporary_folder folder;
    const auto file = identity_store::file_in(folder.path);
    {
        database before(file);
        before.prepare("CREATE TABLE keys (id TEXT)").run();
        before
            .prepare(
                "CREATE TABLE limits (principal TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, "
                "PRIMARY KEY (principal, name))")
            .run();
        before.prepare("INSERT INTO limits VALUES ('ann', 'runs', 2)").run();
        before.prepare("PRAGMA user_version = 2").run();
    }
    identity_store store(file);
    CHECK(store.limits_of("ann").at(0).value == 2);
    CHECK(store.limit_changes().empty());
    store.set_limit({"ann", "runs", 3});
    CHECK(store.limit_changes().at(0).value == 3);
}

TEST_CASE("the calls of a minute may come at once, then they come back evenly")
{
    stage s;
    s.config.auth_quotas = {"ann:calls=6"};
    for (int i = 0; i < 6; ++i) CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") == 10s);
    s.now += 4s;
    CHECK(s.limits.take_call("ann") == 6s);
    CHECK(s.limits.take_call("bob") == 0ms);
    s.now += 6s;
    CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") == 10s);
    s.now += 1h;
    for (int i = 0; i < 6; ++i) CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") > 0ms);
}

TEST_CASE("what is no tool takes of the same calls, by the counter of all servers where there is one")
{
    stage s;
    s.config.auth_quotas = {"*:calls=2"};
    quotas limits(s.config, [&] { return s.now; });
    asio::io_context io;
    CHECK(run_coroutine(io, limits.begin_call("ann")) == 0ms);
    CHECK(limits.take_call("ann") == 0ms);
    const auto wait = run_coroutine(io, limits.begin_call("ann"));
    CHECK(wait == 30s);
    CHECK(quotas::seconds_to_wait(wait) == 30);
    CHECK(quotas::refusal_of_call(wait) ==
          "Too many calls in a minute: your quota of calls is used up. Call again in 30 seconds.");
    CHECK(quotas::refusal_of_call(1ms) ==
          "Too many calls in a minute: your quota of calls is used up. Call again in 1 second.");
    std::string counted;
    limits.count_calls_by([&](const std::string& principal) -> awaitable<std::chrono::milliseconds> {
        counted = principal;
        struct answer {
            static awaitable<std::chrono::milliseconds> wait() { co_return 7ms; }
        };
        return answer::wait();
    });
    CHECK(run_coroutine(io, limits.begin_call("bob")) == 7ms);
    CHECK(counted == "bob");
}

TEST_CASE("fewer calls a minute count for who had saved more")
{
    stage s;
    s.keep("ann", "calls", 60);
    CHECK(s.limits.take_call("ann") == 0ms);
    s.keep("ann", "calls", 1);
    s.now += 2s;
    CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") == 60s);
}

TEST_CASE("more calls a minute count at once")
{
    stage s;
    s.keep("ann", "calls", 1);
    CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") > 0ms);
    s.keep("ann", "calls", 3);
    s.now += 1s;
    CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") == 0ms);
    CHECK(s.limits.take_call("ann") > 0ms);
}

TEST_CASE("a limit is a known name with a number that it may have")
{
    CHECK(parse_limit("disk=5").value == 5);
    CHECK(parse_limit("runs=0").value == 0);
    CHECK(parse_named_limit("oauth-1a:calls=9").principal == "oauth-1a");
    for (const char* wrong : {"", "runs", "runs=", "runs=-1", "runs=2x", "speed=2", "disk=0", "runs=9999999999", "=2"})
        CHECK_THROWS_AS(parse_limit(wrong), std::invalid_argument);
    for (const char* wrong : {"runs=2", ":runs=2", "ann:", "ann:speed=2"})
        CHECK_THROWS_AS(parse_named_limit(wrong), std::invalid_argument);
    for (const auto& each : limit_names()) {
        CHECK(find_limit(each.name) == &each);
        CHECK(&name_of(each.member) == &each);
    }
}

TEST_CASE("a limit is given once")
{
    CHECK(parse_limits({"disk=30", "calls=40"}).size() == 2);
    CHECK_THROWS_WITH(parse_limits({"disk=30", "calls=1", "disk=40"}), "\"disk\" is given twice; name each limit once");
    CHECK_THROWS_AS(parse_limits({"disk=30", "disk=30"}), std::invalid_argument);
    CHECK(kinds::quota_list("ann:disk=30,bob:disk=30,ann:runs=2").size() == 3);
    CHECK_THROWS_AS(kinds::quota_list("ann:disk=30,bob:disk=30,ann:disk=40"), bad_value);
}

TEST_CASE("what a principal has elsewhere is taken off its limits, and the refusal says how much that is")
{
    stage s;
    s.config.auth_quotas = {"ann:sandboxes=3", "ann:disk=2"};
    principal_limits elsewhere;
    s.limits.count_elsewhere([&elsewhere](std::string_view) -> const principal_limits& { return elsewhere; });
    CHECK(s.limits.of("ann").sandboxes == 3);
    elsewhere.sandboxes = 2;
    elsewhere.disk = 9u << 20;
    CHECK(s.limits.of("ann").sandboxes == 1);
    CHECK(s.limits.of("ann").disk == 1);  // 0 would be any number
    CHECK(s.limits.whole("ann").sandboxes == 3);
    CHECK(s.limits.refusal_in_words("ann", &principal_limits::sandboxes) ==
          "your quota of sandboxes allows (3, of which 2 at other servers)");
    elsewhere.sandboxes = 7;
    CHECK(s.limits.of("ann").sandboxes == 0);
    s.limits.count_elsewhere({});
    CHECK(s.limits.of("ann").sandboxes == 3);
}

TEST_CASE("the bytes of an hour may move at once, then they come back evenly")
{
    constexpr std::uint64_t mib = 1u << 20;
    stage s;
    s.config.auth_quotas = {"ann:network=60"};
    CHECK(s.limits.take_network("ann", 40 * mib));
    CHECK(s.limits.take_network("ann", 20 * mib));
    CHECK_FALSE(s.limits.take_network("ann", 0));
    CHECK_FALSE(s.limits.take_network("ann", 1));
    CHECK(s.limits.network_wait("ann") > 60s);
    CHECK(s.limits.network_wait("ann") < 61s);
    s.now += 62s;
    CHECK(s.limits.take_network("ann", 0));
    CHECK(s.limits.take_network("ann", mib / 2));
    s.now += 1h;
    CHECK(s.limits.take_network("ann", 60 * mib));
    CHECK_FALSE(s.limits.take_network("ann", mib));
    CHECK(s.limits.take_network("bob", 1000 * mib));
    CHECK(s.limits.network_wait("bob") == 0ms);
}

TEST_CASE("another limit of bytes counts at once, and a smaller one for who had saved more")
{
    constexpr std::uint64_t mib = 1u << 20;
    stage s;
    s.keep("ann", "network", 1);
    CHECK_FALSE(s.limits.take_network("ann", 2 * mib));
    s.keep("ann", "network", 10);
    s.now += 2s;
    CHECK(s.limits.take_network("ann", mib));
    s.keep("ann", "network", 2);
    s.now += 2s;
    CHECK_FALSE(s.limits.take_network("ann", 3 * mib));
    s.keep("ann", "network", 0);
    s.now += 2s;
    CHECK(s.limits.take_network("ann", 100 * mib));
}

TEST_CASE("who has used its bytes is not forgotten among many principals within the hour")
{
    stage s;
    s.config.auth_quotas = {"ann:network=1"};
    CHECK_FALSE(s.limits.take_network("ann", 2u << 20));
    for (const auto pause : {2min, 10min}) {
        s.now += pause;
        for (int i = 0; i < 10'001; ++i)
            s.limits.of("other " + std::to_string(i) + "/" + std::to_string(pause.count()));
    }
    CHECK_FALSE(s.limits.take_network("ann", 0));
}
