#include "transport/session_store.hpp"

#include "config/settings.hpp"
#include "test/support/catch.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <set>

using namespace cmcp;
using refusal = session_store::refusal;

namespace {

struct store_fixture {
    asio::io_context io;
    settings config;
    refusal why = refusal::none;

    std::shared_ptr<http_session> make(session_store& store, std::string principal = "", std::string address = "a")
    {
        return store.create(std::move(principal), std::move(address), false, why);
    }
};

}  // namespace

TEST_CASE_METHOD(store_fixture, "session ids are never the same, and name the node")
{
    session_store store(io.get_executor(), config, std::make_shared<memory_budget>(), {}, handle_maker("box"));
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(make(store)->id);
    CHECK(seen.size() == 1000);
    for (const auto& id : seen) {
        CHECK(handle_maker::fits("ses", id));
        CHECK(handle_maker::node_of(id) == "box");
    }
}

TEST_CASE_METHOD(store_fixture, "a session is found by its own principal only")
{
    session_store store(io.get_executor(), config);
    auto session = make(store, "anna");
    CHECK(store.find(session->id, "anna") == session);
    CHECK_FALSE(store.find(session->id, "ben"));
    store.drop(session);
    CHECK_FALSE(store.find(session->id, "anna"));
}

TEST_CASE_METHOD(store_fixture, "each session that is dropped is told once, for whatever reason it is dropped")
{
    session_store store(io.get_executor(), config);
    std::vector<std::string> ended;
    store.on_drop([&](const caller& who) { ended.push_back(who.session); });
    const auto first = make(store), second = make(store);
    CHECK(first->state->who.session_ends);
    store.drop(first);
    store.drop(first);
    CHECK(ended == std::vector{first->id});
    store.sweep(session_store::clock::now() + config.session_timeout);
    CHECK(ended == std::vector{first->id, second->id});
}

TEST_CASE_METHOD(store_fixture, "sessions are limited for each address and as a whole")
{
    config.max_sessions = 3;
    config.max_sessions_per_address = 2;
    session_store store(io.get_executor(), config);
    auto first = make(store, "", "a");
    auto second = make(store, "", "a");
    CHECK_FALSE(make(store, "", "a"));
    CHECK(why == refusal::too_many_from_address);
    CHECK(make(store, "", "b"));
    CHECK_FALSE(make(store, "", "c"));
    CHECK(why == refusal::too_many);
    store.drop(first);
    CHECK(make(store, "", "a"));
}

TEST_CASE_METHOD(store_fixture, "the sessions of a principal count together, whatever address they come from")
{
    config.max_sessions_per_address = 2;
    session_store store(io.get_executor(), config);
    auto first = make(store, "anna", "proxy");
    auto second = make(store, "anna", "elsewhere");
    CHECK_FALSE(make(store, "anna", "third"));
    CHECK(why == refusal::too_many_of_caller);
    CHECK(make(store, "ben", "proxy"));
    CHECK(make(store, "cleo", "proxy"));
    CHECK(make(store, "", "proxy"));
}

TEST_CASE_METHOD(store_fixture, "a principal's longest idle session makes room for its next one, never another's")
{
    config.max_sessions_per_address = 2;
    config.max_sessions = 4;
    session_store store(io.get_executor(), config);
    auto others = make(store, "ben");
    auto busy = make(store, "anna");
    auto idle = make(store, "anna");
    busy->general->attach();
    for (auto& each : {others, busy}) each->last_used -= std::chrono::hours(2);
    idle->last_used -= std::chrono::hours(1);
    REQUIRE(make(store, "anna"));
    CHECK(store.find(busy->id, "anna"));
    CHECK_FALSE(store.find(idle->id, "anna"));

    auto fourth = make(store, "cleo");
    fourth->last_used -= std::chrono::hours(1);
    REQUIRE(make(store, "cleo"));
    CHECK_FALSE(store.find(fourth->id, "cleo"));
    CHECK(store.find(others->id, "ben"));
}

TEST_CASE_METHOD(store_fixture, "a full store drops the session that was idle for longest, never a busy one")
{
    config.max_sessions = 2;
    session_store store(io.get_executor(), config);
    auto busy = make(store);
    auto idle = make(store);
    busy->general->attach();
    busy->last_used -= std::chrono::hours(1);
    idle->last_used -= std::chrono::minutes(30);
    auto session = make(store);
    REQUIRE(session);
    CHECK(store.find(busy->id, ""));
    CHECK_FALSE(store.find(idle->id, ""));
}

TEST_CASE_METHOD(store_fixture, "idle sessions expire, used ones do not")
{
    session_store store(io.get_executor(), config);
    auto idle = make(store);
    auto used = make(store);
    idle->last_used -= std::chrono::hours(25);
    store.sweep(session_store::clock::now());
    CHECK(store.size() == 1);
    CHECK(store.find(used->id, ""));
}

TEST_CASE_METHOD(store_fixture, "of very many sessions that expire at one moment some go in each step")
{
    config.max_sessions = config.max_sessions_per_address = 1000;
    session_store store(io.get_executor(), config);
    for (int i = 0; i < 350; ++i) make(store);
    const auto used = make(store);
    const auto later = session_store::clock::now() + config.session_timeout + std::chrono::seconds(1);
    int steps = 1;
    used->last_used = later;
    for (std::size_t before = store.size(); store.sweep(later); before = store.size(), ++steps)
        CHECK(before - store.size() <= 100);
    CHECK(steps == 4);
    CHECK(store.size() == 1);
}

TEST_CASE_METHOD(store_fixture, "of very many sessions some streams end in each step when the server stops")
{
    config.max_sessions = config.max_sessions_per_address = 3000;
    session_store store(io.get_executor(), config);
    std::vector<std::shared_ptr<http_session>> sessions;
    for (int i = 0; i < 2500; ++i) sessions.push_back(make(store));
    const auto ended = [&sessions] {
        return std::ranges::count_if(sessions, [](const auto& each) { return each->general->all_requests_ended(); });
    };
    bool done = false;
    asio::co_spawn(io, store.end_streams(), [&done](std::exception_ptr) { done = true; });
    auto before = ended();
    for (; !done && io.run_one() != 0; before = ended()) {
        CHECK(ended() - before <= 1000);
        if (before > 0) store.drop(sessions.back());  // others may go meanwhile
    }
    CHECK(done);
    CHECK(ended() == 2500);
}
