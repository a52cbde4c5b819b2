#include "upstream/http_link.hpp"

#include "async/with_deadline.hpp"
#include "config/config_error.hpp"
#include "egress/egress_policy.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/revision.hpp"
#include "text/ascii.hpp"
#include "text/time_text.hpp"
#include "upstream/http_failure.hpp"
#include "upstream/upstream_text.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr auto time_to_tell = std::chrono::seconds(10);
constexpr std::size_t most_told_at_once = 16;
constexpr std::string_view stateless_revision = to_string(revision::v2026_07_28);

/// The session is unknown to its server.
struct session_gone {};

web_url url_of(const upstream_entry& entry)
try {
    return web_url::parse(entry.url);
} catch (const bad_url& problem) {
    throw config_error("upstream." + entry.name + ".url (" + entry.origin + ") cannot be used: " + problem.what());
}

// The only host is the operator's own, on whichever network it is.
std::shared_ptr<const egress_policy> policy_for(const web_url& url)
{
    const auto entry = egress_entry::parse(url.who.with_port(url.port));
    return std::make_shared<const egress_policy>(std::vector{entry}, std::vector{entry});
}

std::string sentence_of_status(unsigned status, const std::string& said)
{
    std::string why = "answered with HTTP " + std::to_string(status);
    if (status == 401 || status == 403) why += ", so it does not take the credentials of its entry in config.toml";
    return said.empty() ? why : why + ": " + said;
}

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

http_link::http_link(asio::any_io_executor executor, const upstream_entry& entry, std::shared_ptr<http_client> client,
                     blocking_pool& pool)
    : entry_(entry),
      client_(std::move(client)),
      url_(url_of(entry)),
      policy_(policy_for(url_)),
      messages_(&pool),
      tasks_(executor)
{
    messages_.reply = [this](std::string body) { notify_soon(std::move(body)); };
    messages_.tools_changed = [this] { tell_change(); };
}

awaitable<json::object> http_link::ask(upstream_request wanted)
{
    const auto limit = wanted.timeout;
    auto work = ask_open(std::move(wanted));
    try {
        auto result = co_await with_deadline(std::move(work), limit);
        co_return result;
    } catch (const deadline_exceeded&) {
        throw upstream_problem("has not answered within " + seconds_text(limit));
    } catch (const fetch_error& failure) {
        throw upstream_problem(std::string("cannot be reached. ") + failure.what());
    }
}

awaitable<json::object> http_link::ask_open(upstream_request wanted)
{
    bool again = false;
    for (;;) {
        co_await open();
        listen_soon();
        try {
            auto one = wanted;
            auto result = co_await exchange(std::move(one), stateless_);
            co_return result;
        } catch (const session_gone&) {
            if (again) throw upstream_problem("does not know the session that it has just opened");
        }
        again = true;
    }
}

awaitable<json::object> http_link::exchange(upstream_request wanted, bool stateless)
{
    const auto id = next_id_++;
    const bool can_be_cancelled = !stateless && wanted.method != "initialize";
    auto work = exchange_once(std::move(wanted), id, stateless);
    try {
        auto result = co_await std::move(work);
        co_return result;
    } catch (const boost::system::system_error& failure) {
        // The end of the connection says it to a server of revision 2026-07-28.
        if (failure.code() == asio::error::operation_aborted && can_be_cancelled) {
            json::object params{{"requestId", id}, {"reason", "The call was cancelled, or its time is over."}};
            notify_soon(jsonrpc::encode_notification("notifications/cancelled", params));
        }
        throw;
    }
}

awaitable<json::object> http_link::exchange_once(upstream_request wanted, std::int64_t id, bool stateless)
{
    const bool reports = static_cast<bool>(wanted.on_progress);
    auto params = params_with_meta(std::move(wanted.params), id, reports, stateless);
    auto name = text_of(params, "name");
    auto body = co_await messages_.write(id, wanted.method, std::move(params));
    auto message = std::make_shared<post>(post_of(std::move(body)));
    message->method = wanted.method;
    message->stateless = stateless;
    if (stateless) {
        message->name = std::move(name);
        message->fields = std::move(wanted.fields);
    }
    const auto answer = messages_.expect(id, std::move(wanted.on_progress));
    reply_receiver reply(messages_, answer, held_);
    co_await send_or_break_off(message, reply);
    if (can_go_on(reply, *message)) {
        auto session = message->session;
        auto place = reply.place();
        co_await go_on(std::move(session), std::move(place), answer);
    }
    co_await reply.finish();
    co_return end_of(reply, *answer, *message);
}

awaitable<> http_link::send(std::shared_ptr<post> message, reply_receiver& to)
{
    auto ticket = std::make_shared<egress_ticket>("upstream " + entry_.name, policy_, egress_limits{});
    auto request = request_for(*message);
    request.receiver = &to;
    try {
        co_await client_->get(std::move(ticket), std::move(request));
    } catch (const reply_complete&) {
        // The rest of the body is of no use.
    }
}

http_link::post http_link::post_of(std::string body) const
{
    post message;
    message.body = std::move(body);
    message.session = session_;
    message.stateless = stateless_;
    return message;
}

fetch_request http_link::request_for(const post& message) const
{
    fetch_request request;
    request.url = url_;
    request.method = "POST";
    request.accept = "application/json, text/event-stream";
    request.headers = entry_.headers;
    request.body = message.body;
    request.body_type = "application/json";
    request.extra_header = "Mcp-Session-Id";
    request.may_repeat = false;
    request.max_redirects = 0;
    request.max_bytes = longest_message;
    request.timeout = std::chrono::hours(2);  // the caller's own is shorter
    auto& fields = request.headers;
    if (!message.resumes.empty()) {
        request.method = "GET";
        request.accept = "text/event-stream";
        fields.emplace_back("Last-Event-ID", message.resumes);
    }
    if (message.stateless) {
        fields.emplace_back("MCP-Protocol-Version", stateless_revision);
        fields.emplace_back("Mcp-Method", message.method);
        if (!message.name.empty()) fields.emplace_back("Mcp-Name", message.name);
    } else if (!protocol_.empty()) {
        fields.emplace_back("MCP-Protocol-Version", protocol_);
    }
    fields.insert(fields.end(), message.fields.begin(), message.fields.end());
    if (!message.session.empty()) fields.emplace_back("Mcp-Session-Id", message.session);
    return request;
}

json::object http_link::end_of(reply_receiver& reply, awaited_answer& answer, const post& sent)
{
    const auto status = reply.head().status;
    if (status < 400) {
        if (sent.method == "initialize") take_session(reply.head().extra_value);
        return result_of(std::move(*answer.answer), sent.method);
    }
    const auto body = jsonrpc::read_object(reply.text(), 32);
    const auto& error = object_of(body, "error");
    const auto said = shown_line(view_of(error, "message"), 500);
    const auto code = static_cast<int>(number_of(error, "code"));
    const bool names_session = status == 400 && lower_case(said).find("session") != std::string::npos;
    if (!sent.session.empty() && (status == 404 || names_session)) {
        forget_session(sent.session);
        throw session_gone();
    }
    // A server that was updated, or rolled back, is asked anew for what it speaks.
    if (code == rpc_code::unsupported_protocol_version) protocol_.clear();
    if (code != 0 && may_be_other_era(status))
        throw upstream_refusal(code, "refused " + sent.method + ": " + said + " (" + std::to_string(code) + ")");
    throw http_failure(status, sentence_of_status(status, said));
}

awaitable<> http_link::notify(std::string body)
{
    const auto self = shared_from_this();
    auto message = std::make_shared<post>(post_of(std::move(body)));
    reply_receiver reply(messages_, nullptr, held_);
    auto work = send(message, reply);
    co_await with_deadline(std::move(work), time_to_tell);
}

void http_link::notify_soon(std::string body)
{
    if (!closed_ && tasks_.size() < most_told_at_once) tasks_.spawn("tell an upstream server", notify(std::move(body)));
}

// A server goes on with an answer whose stream broke off (revision 2025-11-25, Streamable HTTP, "Resumability and
// Redelivery"). It may end streams on purpose, so that it is asked again later.

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
