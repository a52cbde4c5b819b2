#include "transport/stdio.hpp"

#include "async/task_group.hpp"
#include "config/http_settings.hpp"
#include "http/long_body.hpp"
#include "jsonrpc/message.hpp"
#include "log/request_id.hpp"
#include "mcp/running_request.hpp"
#include "mcp/stateless_era.hpp"
#include "transport/line_splitter.hpp"
#include "transport/start_in_turns.hpp"
#include "transport/stdio_sink.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>

#include <sys/socket.h>

namespace cmcp {

namespace {

// Passes messages on, and counts the requests that are not over.
class counting_sink final : public message_sink {
public:
    explicit counting_sink(std::shared_ptr<message_sink> to) : to_(std::move(to)) {}

    void expect_request() { ++open_; }
    awaitable<bool> send(outgoing message) override { return to_->send(std::move(message)); }
    void request_ended() override
    {
        if (--open_ == 0) changed_.notify();
    }

    // Until no request is open, at most `limit`; true then.
    awaitable<bool> idle(std::chrono::milliseconds limit)
    {
        const auto until = event::clock::now() + limit;
        while (open_ != 0) {
            const bool changed = co_await changed_.wait(until);
            if (!changed) break;
        }
        co_return open_ == 0;
    }

private:
    std::shared_ptr<message_sink> to_;
    event changed_;
    std::size_t open_ = 0;
};

awaitable<jsonrpc::payload> decode_on_pool(blocking_pool& pool, std::string text, jsonrpc::decode_limits limits)
{
    const auto decoder = std::make_shared<jsonrpc::message_decoder>(std::move(text), limits);
    sliced_work<jsonrpc::payload> work = [decoder](slice_end until) { return decoder->decode_until(until); };
    auto payload = co_await pool.run_long(std::string(), std::move(work));
    co_return payload;
}

// A client: takes its lines and starts what they ask for.
class stdio_connection {
public:
    stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                     std::shared_ptr<message_sink> sink, caller who);

    // Answers what cannot be read; starts the rest in the order of the lines.
    awaitable<> take(line_splitter::line line);

    void end_subscriptions();  // which would wait for ever
    void cancel_all() { session_->cancel_all(); }

    // Waits until all is answered, at most `limit`; returns true then.
    awaitable<bool> answered(std::chrono::milliseconds limit);

private:
    class batch;

    awaitable<> start_batch(jsonrpc::payload received);

    server_core& core_;
    jsonrpc::decode_limits limits_;
    std::shared_ptr<counting_sink> sink_;
    std::shared_ptr<session> session_;
    task_group batches_;
};

bool may_batch(const session& who) { return who.initialized && who.who.protocol <= revision::v2025_03_26; }

awaitable<> send_batch(std::shared_ptr<message_sink> sink, std::string responses)
{
    outgoing whole;
    whole.what = outgoing::kind::response;
    whole.text = std::move(responses);
    co_await sink->send(std::move(whole));
}

// Collects the responses of a batch (2025-03-26) into one array; other messages go out at once.
class stdio_connection::batch final : public message_sink {
public:
    batch(std::size_t requests, std::shared_ptr<counting_sink> sink, task_group& batches)
        : open_(requests), sink_(std::move(sink)), batches_(batches)
    {
    }

    awaitable<bool> send(outgoing message) override
    {
        if (message.what == outgoing::kind::response) {
            responses_ += (responses_.empty() ? "[" : ",") + message.take_text();
            co_return true;
        }
        const bool sent = co_await sink_->send(std::move(message));
        co_return sent;
    }

    void request_ended() override
    {
        if (--open_ == 0 && !responses_.empty())
            batches_.spawn("batch", send_batch(sink_, std::move(responses_) + "]"));
        sink_->request_ended();
    }

private:
    std::size_t open_;
    std::shared_ptr<counting_sink> sink_;
    task_group& batches_;
    std::string responses_;
};

stdio_connection::stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                                   std::shared_ptr<message_sink> sink, caller who)
    : core_(core),
      limits_(limits),
      sink_(std::make_shared<counting_sink>(sink)),
      session_(std::make_shared<session>()),
      batches_(executor)
{
    session_->general = std::move(sink);
    session_->who = std::move(who);
    // `container-mcp stdio` leads a client from one server to the next: its late answer to a question of the last one
    // must not be taken for the answer to another.
    session_->next_request_id =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    core_.watch(session_);
}

awaitable<> stdio_connection::take(line_splitter::line line)
{
    if (!line.too_long && line.text.find_first_not_of(" \t") == std::string::npos) co_return;
    if (line.too_long) {
        auto refusal = refusal_of_long_line();
        co_await sink_->send(std::move(refusal));
        co_return;
    }
    std::optional<jsonrpc::decode_error> failure;
    jsonrpc::payload payload;
    auto* const pool = line.text.size() > jsonrpc::longest_on_loop ? core_.pool().lock().get() : nullptr;
    try {
        if (pool != nullptr)
            payload = co_await decode_on_pool(*pool, std::move(line.text), limits_);
        else
            payload = jsonrpc::decode(line.text, limits_);
        if (payload.batch && !may_batch(*session_))
            throw jsonrpc::decode_error(rpc_code::invalid_request,
                                        "Invalid request: batches are not part of this revision", nullptr);
    } catch (const jsonrpc::decode_error& error) {
        failure = error;
    }
    if (failure) {
        auto refusal = answer_of(failure->id, *failure);
        co_await sink_->send(std::move(refusal));
    } else if (payload.batch) {
        co_await start_batch(std::move(payload));
    } else {
        auto& message = payload.messages.front();
        if (std::holds_alternative<jsonrpc::request>(message)) sink_->expect_request();
        peer from{.era = era_of_peer::both, .client = session_, .reply = sink_};
        from.who.profile = session_->who.profile;
        core_.start(std::move(message), std::move(from));
    }
}

// No message of a batch claims the stateless era, which has none.
awaitable<> stdio_connection::start_batch(jsonrpc::payload received)
{
    auto& messages = received.messages;
    const auto is_request = [](const auto& message) { return std::holds_alternative<jsonrpc::request>(message); };
    const auto requests = std::count_if(messages.begin(), messages.end(), is_request);
    for (auto i = requests; i != 0; --i) sink_->expect_request();
    const auto whole = std::make_shared<batch>(static_cast<std::size_t>(requests), sink_, batches_);
    peer by{.era = era_of_peer::session, .client = session_, .reply = whole};
    co_await start_in_turns(core_, std::move(messages), std::move(by));
}

awaitable<bool> stdio_connection::answered(std::chrono::milliseconds limit)
{
    const bool ended = co_await sink_->idle(limit);
    const bool sent = co_await batches_.wait_idle(limit);
    co_return ended&& sent;
}

void stdio_connection::end_subscriptions()
{
    std::vector<std::shared_ptr<running_request>> waiting;
    for (auto* each : session_->in_flight)
        if (each->method == listen_method) waiting.push_back(each->shared_from_this());
    for (const auto& each : waiting) each->cancel();
}

caller client_of_stdio(std::string tag, std::string profile)
{
    caller who;
    who.session = "stdio";
    who.session_tag = std::move(tag);
    who.profile = std::move(profile);
    return who;
}

awaitable<> read_lines(descriptor_stream& stream, line_splitter& lines, stdio_connection& connection)
{
    constexpr std::size_t most_in_a_turn = 32 * 1024, cost_of_line = 2048;  // in bytes
    const auto executor = co_await asio::this_coro::executor;
    auto state = co_await asio::this_coro::cancellation_state;
    std::size_t taken = 0;
    while (state.cancelled() == asio::cancellation_type::none) {
        while (auto line = lines.next()) {
            taken += cost_of_line + line->text.size();
            co_await connection.take(std::move(*line));
            if (taken < most_in_a_turn) continue;
            taken = 0;
            co_await asio::post(executor, asio::use_awaitable);
        }
        std::string bytes = co_await stream.read_some();
        if (bytes.empty()) break;
        lines.append(bytes);
    }
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    if (auto line = lines.rest()) co_await connection.take(std::move(*line));
}

// A reader of ours that went away must end the stream, not the process.
void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

// Cancellation ends the reading only: what runs is given its time.
awaitable<> read_until_cancelled(descriptor_stream& stream, line_splitter& lines, stdio_connection& connection)
{
    try {
        co_await read_lines(stream, lines, connection);
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) throw;
    }
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
}

// Answers what was read, what takes too long by its cancellation, and returns when all is written.
awaitable<> end(stdio_connection& connection, stdio_sink& sink, task_group& writer, std::chrono::milliseconds limit)
{
    const bool answered = co_await connection.answered(limit);
    if (!answered) {
        connection.cancel_all();
        co_await connection.answered(limit);
    }
    sink.finish();
    co_await writer.wait_idle(limit);
}

}  // namespace

outgoing refusal_of_long_line()
{
    return answer_of(nullptr, rpc_error(rpc_code::invalid_request,
                                        "Invalid request: the line is longer than HTTP_MAX_BODY_MB allows"));
}

awaitable<> serve_stdio(server_core& core, const http_settings& config, int input, int output,
                        std::function<void()> input_ended)
{
    ignore_broken_pipes();
    auto executor = co_await asio::this_coro::executor;
    const auto limits = decode_limits_of(config);
    auto sink = std::make_shared<stdio_sink>(executor, output);
    task_group writer(executor);
    writer.spawn("standard output", sink->run());
    descriptor_stream stream(executor, input);
    line_splitter lines(config.max_body_bytes);
    stdio_connection connection(executor, core, limits, sink, client_of_stdio("stdio", {}));
    co_await read_until_cancelled(stream, lines, connection);
    if (input_ended) input_ended();
    core.refuse_new_requests();
    co_await end(connection, *sink, writer, config.drain_timeout);
}

awaitable<> serve_relayed(server_core& core, const http_settings& config, descriptor_stream& input,
                          line_splitter& lines, std::string profile, int output)
{
    auto executor = co_await asio::this_coro::executor;
    const auto limits = decode_limits_of(config);
    auto sink = std::make_shared<stdio_sink>(executor, output);
    task_group writer(executor);
    writer.spawn("output of a client of stdio", sink->run());
    auto who = client_of_stdio(log::next_id('s'), std::move(profile));
    stdio_connection connection(executor, core, limits, sink, std::move(who));
    co_await read_until_cancelled(input, lines, connection);
    ::shutdown(output, SHUT_RD);  // what the client sends now fails there, and waits for the next server
    connection.end_subscriptions();
    co_await end(connection, *sink, writer, config.drain_timeout);
}

}  // namespace cmcp
