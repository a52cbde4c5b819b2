#include "async/task_group.hpp"
#include "cluster/etcd_names.hpp"
#include "cluster/etcd_owners.hpp"
#include "cluster/member_lease.hpp"
#include "config/config_error.hpp"
#include "test/support/catch.hpp"
#include "test/support/etcd_server.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace cmcp;
using namespace std::chrono_literals;

namespace {

using trace = std::vector<std::string>;

/// A server as etcd sees it: its registration, and what it does when that is not sure. All of it goes into a trace.
class member {
public:
    member(asio::io_context& io, settings of, trace& into)
        : name(of.sandbox_node),
          config_(std::move(of)),
          etcd(io.get_executor(), config_, {}),
          all(config_),
          lease(etcd, config_, all, [] { return json::object(); }),
          owners(etcd, config_),
          io_(io),
          trace_(into),
          tasks_(io.get_executor())
    {
        member_lease::changes calls;
        calls.settle = [this] { return settle(); };
        calls.hold = [this](bool on) { note(on ? "holds" : "goes on"); };
        lease.on_change(std::move(calls));
    }

    void enter()
    {
        test::run_coroutine(io_, lease.enter());
        note(lease.is_in_touch() ? "is in touch" : "is not in touch");
    }

    void keeps_its_lease()
    {
        tasks_.spawn("registration", lease.run());
        etcd_client::listener to;
        to.whole = [this](const std::vector<etcd_entry>& entries) { all.put_all(entries); };
        to.changed = [this](const etcd_entry& entry, bool removed) { all.put(entry, removed); };
        tasks_.spawn("others", etcd.watch(etcd_names(config_).members(), std::move(to)));
    }

    /// As a machine that stops: nothing of it is renewed or revoked.
    void dies() { tasks_.cancel_all(); }

    sandbox_claim owner_of(const std::string& sandbox) { return test::run_coroutine(io_, owners.owner_of(sandbox)); }

    bool claims(const std::string& sandbox, sandbox_claim before, bool gone)
    {
        const auto done = test::run_coroutine(io_, owners.claim(sandbox, name, std::move(before), gone));
        note((done ? "claims " : "is refused ") + sandbox);
        if (done) mine_.insert(sandbox);
        return done;
    }

    std::string name;
    settings config_;
    etcd_client etcd;
    members all;
    member_lease lease;
    etcd_owners owners;

private:
    awaitable<> settle()
    {
        const auto owners_now = co_await owners.all();
        for (const auto& sandbox : mine_)
            if (owners_now.at(sandbox).node != name) note("gives up " + sandbox);
        std::erase_if(mine_, [&](const auto& sandbox) { return owners_now.at(sandbox).node != name; });
        note("settles");
    }

    void note(const std::string& what) { trace_.push_back(name + " " + what); }

    asio::io_context& io_;
    trace& trace_;
    std::set<std::string> mine_;
    task_group tasks_;
};

/// etcd and servers of one loop.
struct stage {
    member& server(const std::string& name)
    {
        auto& one = servers[name];
        if (!one) one = std::make_unique<member>(io, etcd.settings_of(name), events);
        return *one;
    }

    template <class Condition>
    bool until(Condition condition)
    {
        return test::holds_after(condition, [this] {
            io.restart();
            io.run_for(5ms);
        });
    }

    bool tells(const std::string& line)
    {
        return until([&] { return std::ranges::count(events, line) != 0; });
    }

    std::string text() const
    {
        std::string lines;
        for (const auto& each : events) lines += each + "\n";
        return lines;
    }

    test::etcd_server etcd;
    asio::io_context io;
    trace events;
    std::map<std::string, std::unique_ptr<member>> servers;
};

}  // namespace

TEST_CASE("a sandbox is taken over when its owner's lease has ended, and not before; the owner gives it up")
{
    stage s;
    auto& one = s.server("n1");
    one.enter();
    one.keeps_its_lease();
    REQUIRE(one.claims("sbx", {}, false));
    auto& two = s.server("n2");
    two.enter();
    two.keeps_its_lease();
    const auto owner = two.owner_of("sbx");
    CHECK((owner.node == "n1" && owner.epoch == 1 && owner.revision != 0));
    CHECK_FALSE(two.claims("sbx", owner, true));  // n1 is registered
    one.dies();
    CHECK(test::run_coroutine(s.io, two.lease.is_gone("n1", 20s)) == true);
    CHECK_FALSE(one.lease.is_in_touch());  // by its own clock, before others may act
    REQUIRE(two.claims("sbx", owner, true));
    CHECK(two.owner_of("sbx").epoch == 2);
    one.keeps_its_lease();
    REQUIRE(s.tells("n1 goes on"));
    CHECK(s.text() ==
          "n1 settles\n"
          "n1 is in touch\n"
          "n1 claims sbx\n"
          "n2 settles\n"
          "n2 is in touch\n"
          "n2 is refused sbx\n"
          "n2 claims sbx\n"
          "n1 holds\n"
          "n1 gives up sbx\n"
          "n1 settles\n"
          "n1 goes on\n");
}

TEST_CASE("of two that claim the same sandbox one is the owner, and an old claim replaces nothing")
{
    stage s;
    auto& one = s.server("n1");
    auto& two = s.server("n2");
    one.enter();
    two.enter();
    CHECK(one.claims("sbx", {}, false));
    CHECK_FALSE(two.claims("sbx", {}, false));
    const auto first = one.owner_of("sbx");
    CHECK(one.claims("sbx", first, false));  // it moves there and back
    CHECK_FALSE(two.claims("sbx", first, false));
    CHECK(two.owner_of("sbx").node == "n1");
    test::run_coroutine(s.io, two.owners.forget("sbx"));
    CHECK(two.owner_of("sbx").epoch == 0);
}

TEST_CASE("a server that etcd does not answer holds what runs, and goes on where nobody took over")
{
    stage s;
    auto& one = s.server("n1");
    one.enter();
    one.keeps_its_lease();
    REQUIRE(one.claims("sbx", {}, false));
    const auto lease = one.lease.number();
    s.etcd.hold_up();
    REQUIRE(s.tells("n1 holds"));
    CHECK_FALSE(one.lease.is_in_touch());
    s.etcd.go_on();
    REQUIRE(s.tells("n1 goes on"));
    CHECK(one.lease.is_in_touch());
    CHECK(one.owner_of("sbx").node == "n1");
    // Whether the lease has outlived the pause or not, nothing is given up.
    CHECK(std::ranges::count(s.events, "n1 gives up sbx") == 0);
    CHECK(one.lease.number() != 0);
    const bool anew = one.lease.number() != lease;
    CHECK(std::ranges::count(s.events, "n1 settles") == (anew ? 2 : 1));
}

TEST_CASE("a call waits while etcd does not answer, and begins when it does; where it stays away, at the limit")
{
    stage s;
    auto& one = s.server("n1");
    one.enter();
    one.keeps_its_lease();
    CHECK(test::run_coroutine(s.io, one.lease.be_sure(20s)));
    CHECK(one.lease.is_in_touch());
    s.etcd.hold_up();
    REQUIRE(s.tells("n1 holds"));
    CHECK_FALSE(test::run_coroutine(s.io, one.lease.be_sure(10ms)));
    CHECK_FALSE(one.lease.is_in_touch());
    bool begins = false;
    const auto call = [&]() -> awaitable<> {
        co_await one.lease.be_sure(60s);
        begins = true;
    };
    asio::co_spawn(s.io, call(), asio::detached);
    s.io.poll();
    CHECK_FALSE(begins);
    s.etcd.go_on();
    REQUIRE(s.until([&] { return begins; }));
    CHECK(one.lease.is_in_touch());
}

TEST_CASE("what etcd has confirmed a moment ago is not asked for again, and what it has not is not sure")
{
    stage s;
    auto config = s.etcd.settings_of("n1");
    config.cluster_lease = 60s;
    config.cluster_confirm = 30s;
    member one(s.io, config, s.events);
    one.enter();
    s.etcd.hold_up();  // whoever asks has no answer
    CHECK(test::run_coroutine(s.io, one.lease.be_sure(0s)));
    config.cluster_confirm = 0s;
    s.etcd.go_on();
    config.sandbox_node = "n2";
    member two(s.io, config, s.events);
    two.enter();
    CHECK(test::run_coroutine(s.io, two.lease.be_sure(20s)));
    s.etcd.hold_up();
    CHECK_FALSE(test::run_coroutine(s.io, two.lease.be_sure(10ms)));
    CHECK(two.lease.is_in_touch());  // as far as it knows
    s.etcd.go_on();
}

TEST_CASE("what a server says of itself is written when it has changed")
{
    stage s;
    auto& one = s.server("n1");
    one.enter();
    const auto written = [&] { return test::run_coroutine(s.io, one.etcd.get("/cmcp/default/member/n1"))->modified; };
    const auto first = written();
    test::run_coroutine(s.io, one.lease.tell(false));
    CHECK(written() == first);
    test::run_coroutine(s.io, one.lease.tell(true));
    const auto second = written();
    CHECK(second > first);
    test::run_coroutine(s.io, one.lease.tell(true));
    CHECK(written() == second);
}

TEST_CASE("a second server of one name does not begin while the first one is registered")
{
    stage s;
    auto& one = s.server("n1");
    one.enter();
    one.keeps_its_lease();
    trace of_second;
    member second(s.io, s.etcd.settings_of("n1"), of_second);
    std::string refusal;
    try {
        second.enter();
    } catch (const config_error& problem) {
        refusal = problem.what();
    }
    CHECK(refusal.find("SANDBOX_NODE=n1 is the name of a server that runs at 127.0.0.1:1") != std::string::npos);
    CHECK(one.lease.is_in_touch());
}

TEST_CASE("a server that leaves gives its name free at once")
{
    stage s;
    auto& one = s.server("n1");
    auto& two = s.server("n2");
    one.enter();
    two.enter();
    test::run_coroutine(s.io, one.lease.leave());
    CHECK_FALSE(one.lease.is_in_touch());
    CHECK(test::run_coroutine(s.io, two.lease.is_gone("n1", 0s)) == true);
    CHECK(test::run_coroutine(s.io, two.lease.is_gone("n2", 0s)) == std::nullopt);
}

TEST_CASE("a server that is about to leave says so while it is registered, and keeps what it has")
{
    stage s;
    auto& one = s.server("n1");
    auto& two = s.server("n2");
    one.enter();
    two.enter();
    two.keeps_its_lease();
    REQUIRE(s.until([&] { return two.all.life_of("n1") != 0; }));
    CHECK_FALSE(two.all.leaves("n1"));
    test::run_coroutine(s.io, one.lease.say_that_it_leaves());
    REQUIRE(s.until([&] { return two.all.leaves("n1"); }));
    CHECK(one.lease.is_in_touch());
    CHECK(two.all.staying().empty());
    test::run_coroutine(s.io, one.lease.tell(true));
    test::run_coroutine(s.io, one.lease.leave());
    REQUIRE(s.until([&] { return two.all.life_of("n1") == 0; }));
    CHECK(two.all.lost().empty());
    one.enter();
    REQUIRE(s.until([&] { return two.all.life_of("n1") != 0; }));
    CHECK_FALSE(two.all.leaves("n1"));
}

TEST_CASE("a renewal after a moment shows that a server lives, and none shows it of one that has ended before that")
{
    stage s;
    auto& one = s.server("n1");
    auto& two = s.server("n2");
    one.enter();
    one.keeps_its_lease();
    two.enter();
    two.keeps_its_lease();
    const auto renewed_since = [&](std::chrono::steady_clock::time_point moment) {
        return test::run_coroutine(s.io, two.lease.is_renewed("n1", moment));
    };
    const auto begun = std::chrono::steady_clock::now();
    CHECK_FALSE(renewed_since(begun));
    REQUIRE(s.until([&] { return renewed_since(begun); }));
    one.dies();
    const auto end = std::chrono::steady_clock::now();
    bool lives = false;
    REQUIRE(s.until([&] {
        lives = lives || renewed_since(end);
        return test::run_coroutine(s.io, two.lease.is_gone("n1", 0s)) == true;
    }));
    CHECK_FALSE(lives);
    CHECK_FALSE(renewed_since(end));
}

TEST_CASE("a server that begins a new life is not gone")
{
    stage s;
    auto& one = s.server("n1");
    auto& two = s.server("n2");
    one.enter();
    two.enter();
    two.keeps_its_lease();
    REQUIRE(s.until([&] { return two.all.life_of("n1") != 0; }));
    const auto first = two.all.life_of("n1");
    test::run_coroutine(s.io, one.lease.leave());
    one.enter();
    REQUIRE(s.until([&] { return two.all.life_of("n1") != first; }));
    CHECK(two.all.life_of("n1") > first);
}
