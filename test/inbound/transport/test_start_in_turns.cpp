#include "transport/start_in_turns.hpp"

#include "test/support/catch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>

using namespace cmcp;

namespace {

/// Notes who was answered.
struct noting_sink final : message_sink {
    noting_sink(std::vector<std::string>& answered, std::string who) : answered_(answered), who_(std::move(who)) {}
    awaitable<bool> send(outgoing) override
    {
        answered_.push_back(who_);
        co_return true;
    }

    std::vector<std::string>& answered_;
    std::string who_;
};

}  // namespace

TEST_CASE("batches of one caller start one after another, however many connections send them")
{
    constexpr int length = 20, sent_at_once = 8;
    asio::io_context io;
    core_limits limits;
    limits.requests_in_flight = limits.requests_per_session = 1000;
    server_core core(io.get_executor(), {"test", "Test", "1", ""}, limits,
                     std::make_shared<job_register>(io.get_executor()));
    std::vector<std::string> answered;
    std::vector<std::shared_ptr<session>> sessions;
    const auto send_batch = [&](const std::string& principal) {
        sessions.push_back(std::make_shared<session>());
        sessions.back()->who.principal = principal;
        std::vector<jsonrpc::message> pings;
        for (int id = 0; id < length; ++id) pings.emplace_back(jsonrpc::request{id, "ping", {}});
        peer from{.era = era_of_peer::session,
                  .client = sessions.back(),
                  .reply = std::make_shared<noting_sink>(answered, principal)};
        asio::co_spawn(io, start_in_turns(core, std::move(pings), std::move(from)), asio::detached);
    };
    for (int batch = 0; batch < sent_at_once; ++batch) send_batch("alice");
    send_batch("bob");
    io.run();

    CHECK(std::ranges::count(answered, "alice") == sent_at_once * length);
    REQUIRE(std::ranges::count(answered, "bob") == length);
    const auto last = std::find(answered.rbegin(), answered.rend(), "bob").base();
    CHECK(std::count(answered.begin(), last, "alice") <= 2 * length);
}
