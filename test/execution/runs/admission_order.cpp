#include "async/task_group.hpp"
#include "runs/run_admission.hpp"
#include "test/execution/runs/run_support.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/system_error.hpp>

#include <map>
#include <memory>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;
using slot = run_admission::slot;

namespace {

struct stage {
    asio::io_context io;
    run_admission admission;
    std::map<std::string, slot> inside;  // by the name of the run
    std::vector<std::string> order;
    std::vector<std::string> turned_away;

    explicit stage(admission_limits limits) : admission(limits) {}

    static awaitable<> one(stage& s, std::string caller, std::string name)
    {
        auto got = co_await s.admission.enter(caller);
        if (got) {
            s.order.push_back(name);
            s.inside[name] = std::move(got);
        } else {
            s.turned_away.push_back(name);
        }
    }
    void enter(std::string caller, std::string name)
    {
        asio::co_spawn(io, one(*this, std::move(caller), std::move(name)), [](std::exception_ptr) {});
        settle();
    }
    void leave(const std::string& name)
    {
        inside.erase(name);
        settle();
    }
    void settle()
    {
        io.restart();
        io.poll();
    }
};

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("a caller that has to wait for a slot is told so, another one is not")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 4});
    recording_io progress(s.io.get_executor());
    std::vector<slot> slots;
    const auto enter = [&](const char* caller) {
        asio::co_spawn(s.io, s.admission.enter(caller, &progress),
                       [&](std::exception_ptr, slot got) { slots.push_back(std::move(got)); });
        s.settle();
    };
    enter("a");
    CHECK(progress.logs.empty());
    enter("b");
    CHECK(progress.logs == names{"admission: Waiting for a slot: 1 run going on, 1 run waiting."});
    CHECK(slots.size() == 1);
    slots.clear();
    s.settle();
    CHECK(slots.size() == 1);
}

TEST_CASE("runs beyond the limit wait for a slot")
{
    stage s({.at_once = 2, .per_caller = 2, .waiting = 10});
    for (const char* name : {"1", "2", "3"}) s.enter("a", name);
    CHECK(s.order == names{"1", "2"});
    s.leave("1");
    CHECK(s.order == names{"1", "2", "3"});
    CHECK(s.admission.running() == 2);
}

TEST_CASE("one caller cannot take every slot")
{
    stage s({.at_once = 3, .per_caller = 2, .waiting = 10});
    for (const char* name : {"a1", "a2", "a3", "a4"}) s.enter("a", name);
    s.enter("b", "b1");
    CHECK(s.order == names{"a1", "a2", "b1"});
}

TEST_CASE("callers that wait take turns")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 10});
    for (const char* name : {"a1", "a2", "a3"}) s.enter("a", name);
    for (const char* name : {"b1", "b2"}) s.enter("b", name);
    for (const char* name : {"a1", "a2", "b1", "a3", "b2"}) s.leave(name);
    CHECK(s.order == names{"a1", "a2", "b1", "a3", "b2"});
    CHECK(s.admission.running() == 0);
    CHECK(s.admission.waiting() == 0);
}

TEST_CASE("a full queue turns callers away, and one caller fills only half of it")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 4});
    for (const char* name : {"a1", "a2", "a3", "a4"}) s.enter("a", name);
    CHECK(s.turned_away == names{"a4"});
    CHECK(s.admission.share_used_up("a"));
    CHECK_FALSE(s.admission.share_used_up("b"));
    for (const char* name : {"b1", "b2", "b3"}) s.enter("b", name);
    CHECK(s.turned_away == names{"a4", "b3"});
    CHECK_FALSE(s.admission.share_used_up("c"));
    CHECK(s.admission.waiting() == 4);
}

TEST_CASE("a caller that is refused over and over is refused at a rate, and has a place as soon as there is one")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 2});
    for (const char* name : {"a1", "a2"}) s.enter("a", name);
    for (int n = 0; n != 200; ++n) s.enter("a", "again");
    const std::size_t at_first = s.turned_away.size();
    CHECK(at_first >= 60);
    CHECK(at_first < 150);
    s.leave("a1");
    while (s.turned_away.size() < 199) s.io.run_one();
    s.leave("a2");
    CHECK(s.order == names{"a1", "a2", "again"});
}

TEST_CASE("a cancelled wait leaves the queue")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 4});
    s.enter("a", "a1");
    asio::cancellation_signal cancel;
    std::exception_ptr failure;
    asio::co_spawn(s.io, stage::one(s, "a", "a2"),
                   asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr e) { failure = e; }));
    s.settle();
    CHECK(s.admission.waiting() == 1);
    cancel.emit(asio::cancellation_type::terminal);
    s.settle();
    CHECK(s.admission.waiting() == 0);
    CHECK_THROWS_AS(std::rethrow_exception(failure), boost::system::system_error);
    s.leave("a1");
    s.enter("a", "a3");
    CHECK(s.order == names{"a1", "a3"});
}

TEST_CASE("a job that waits hears its position as callers take turns, and that its turn has come")
{
    stage s({.at_once = 1, .per_caller = 1, .waiting = 10, .what = "job", .reports_positions = true});
    recording_io second(s.io.get_executor());
    std::vector<slot> slots;
    s.enter("a", "a1");
    s.enter("a", "a2");
    asio::co_spawn(s.io, s.admission.enter("a", &second),
                   [&](std::exception_ptr, slot got) { slots.push_back(std::move(got)); });
    s.settle();
    CHECK(second.positions == std::vector<std::size_t>{2});
    s.enter("b", "b1");
    CHECK(second.positions == std::vector<std::size_t>{2, 3});
    for (const char* name : {"a1", "a2", "b1"}) s.leave(name);
    CHECK(second.positions == std::vector<std::size_t>{2, 3, 2, 1, 0});
    CHECK(second.logs == names{"admission: Waiting for a slot: 1 job going on, 2 jobs waiting."});
    CHECK(slots.size() == 1);
    slots.clear();
    asio::co_spawn(s.io, s.admission.enter("a", &second), [](std::exception_ptr, const slot&) {});
    s.settle();
    CHECK(second.positions == std::vector<std::size_t>{2, 3, 2, 1, 0, 0});
}
