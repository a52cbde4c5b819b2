#include "entrances/housekeeping.hpp"

#include "async/pause.hpp"
#include "log/log.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cmcp {

namespace {

constexpr std::chrono::milliseconds time_between_looks(2000);

awaitable<> end_answers_of_ended_logins(gatekeeper& logins, login_holds& answers)
{
    std::vector<login_ptr> ended;
    for (const auto& who : answers.logins()) {
        const bool counts = co_await logins.still_counts(who);
        if (!counts) ended.push_back(who);
    }
    const auto number = answers.end(ended);
    if (number != 0) log::info("answers_ended", {{"count", number}, {"login", ended.front()->credential}});
}

}  // namespace

awaitable<> sweep(session_store& sessions, connection_context& connections, std::chrono::milliseconds every)
{
    for (;;) {
        co_await pause_for(every);
        while (sessions.sweep(session_store::clock::now())) co_await asio::post(asio::use_awaitable);
        connections.settle_logs();
    }
}

awaitable<> watch_logins(gatekeeper& logins, login_holds& answers)
{
    for (;;) {
        co_await pause_for(time_between_looks);
        co_await end_answers_of_ended_logins(logins, answers);
    }
}

// stat() of three files; inotify would not see what lies behind links and on network file systems.
awaitable<> watch_certificate(server_certificate& own)
{
    for (;;) {
        co_await pause_for(time_between_looks);
        own.look();
    }
}

awaitable<> watch_ends(certificate_ends& all)
{
    constexpr std::chrono::minutes between_looks(1);
    for (;;) {
        all.look(std::time(nullptr));
        co_await pause_for(between_looks);
    }
}

}  // namespace cmcp
