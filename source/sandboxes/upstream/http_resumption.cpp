#include "upstream/http_link.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

// The part of http_link that has a server go on with an answer whose stream broke off (revision 2025-11-25, Streamable
// HTTP, "Resumability and Redelivery"). A server may end streams on purpose, so that it is asked again later.

namespace {

constexpr std::size_t most_tries_in_vain = 5;  // without an event in between
constexpr std::size_t most_tries_in_all = 1'000;
constexpr std::chrono::milliseconds shortest_pause{50};
constexpr std::chrono::milliseconds usual_pause{500};
constexpr std::chrono::milliseconds longest_pause{60'000};

std::chrono::milliseconds pause_before(const stream_position& from, std::size_t tries_in_vain)
{
    const auto wanted = from.retry.value_or(usual_pause) * (1 << tries_in_vain);
    return std::clamp<std::chrono::milliseconds>(wanted, shortest_pause, longest_pause);
}

[[noreturn]] void refuse_broken(const std::string& why)
{
    throw upstream_problem("broke off its answer and did not go on with it (" + why + ")");
}

}  // namespace

bool http_link::can_go_on(const reply_receiver& reply, const post& sent)
{
    return !sent.stateless && sent.method != "initialize" && reply.breaks_off();
}

awaitable<> http_link::send_or_break_off(std::shared_ptr<post> message, reply_receiver& to)
{
    try {
        co_await send(message, to);
    } catch (const fetch_error&) {
        if (!can_go_on(to, *message)) throw;
    }
}

awaitable<> http_link::go_on(std::string session, stream_position from, std::shared_ptr<awaited_answer> answer)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    std::size_t in_vain = 0;
    for (std::size_t tries = 0; !answer->answer; ++tries) {
        if (in_vain == most_tries_in_vain || tries == most_tries_in_all)
            refuse_broken("it was asked " + std::to_string(tries) + " times");
        timer.expires_after(pause_before(from, in_vain));
        co_await timer.async_wait(asio::use_awaitable);
        const auto before = from.last_event;
        from = co_await read_on(session, from, answer);
        in_vain = from.last_event == before ? in_vain + 1 : 0;
        if (from.last_event.empty()) refuse_broken("it named no event any more");
    }
}

awaitable<stream_position> http_link::read_on(std::string session, stream_position from,
                                              std::shared_ptr<awaited_answer> answer)
{
    auto message = std::make_shared<post>(post_of({}));
    message->session = std::move(session);
    message->resumes = from.last_event;
    reply_receiver rest(messages_, answer, held_, std::move(from));
    try {
        co_await send(message, rest);
    } catch (const fetch_error&) {
        // The next try may reach it.
    }
    const auto status = rest.head().status;
    if (status == 404 && !message->session.empty()) forget_session(message->session);
    if (status >= 400 && status < 500) refuse_broken("HTTP " + std::to_string(status));
    if (status != 0 && status < 400 && !rest.is_stream()) refuse_broken("it sent no events");
    co_return rest.place();
}

}  // namespace cmcp
