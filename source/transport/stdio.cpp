#include "transport/stdio.hpp"

#include "async/task_group.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/running_request.hpp"
#include "transport/line_splitter.hpp"
#include "transport/stdio_sink.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <csignal>

namespace cmcp {

namespace {

// The one client on the standard streams: takes its lines and starts what they ask for.
class stdio_connection {
public:
    stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                     std::shared_ptr<message_sink> sink);

    // Answers what cannot be read; starts the rest in the order of the lines.
    awaitable<> take(line_splitter::line line);

    // After server_core::refuse_new_requests(): waits until all is answered, at most `limit`; returns true then.
    awaitable<bool> answered(std::chrono::milliseconds limit);

private:
    class batch;

    void start_batch(jsonrpc::payload received);

    server_core& core_;
    jsonrpc::decode_limits limits_;
    std::shared_ptr<message_sink> sink_;
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
    batch(std::size_t requests, std::shared_ptr<message_sink> sink, task_group& batches)
        : open_(requests), sink_(std::move(sink)), batches_(batches)
    {
    }

    awaitable<bool> send(outgoing message) override
    {
        if (message.what == outgoing::kind::response) {
            responses_ += (responses_.empty() ? "[" : ",") + message.text;
            co_return true;
        }
        const bool sent = co_await sink_->send(std::move(message));
        co_return sent;
    }

    void request_ended() override
    {
        if (--open_ == 0 && !responses_.empty())
            batches_.spawn("batch", send_batch(sink_, std::move(responses_) + "]"));
    }

private:
    std::size_t open_;
    std::shared_ptr<message_sink> sink_;
    task_group& batches_;
    std::string responses_;
};

stdio_connection::stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                                   std::shared_ptr<message_sink> sink)
    : core_(core), limits_(limits), sink_(std::move(sink)), session_(std::make_shared<session>()), batches_(executor)
{
    session_->general = sink_;
    session_->who.session = session_->who.session_tag = "stdio";
    core_.watch(session_);
}

awaitable<> stdio_connection::take(line_splitter::line line)
{
    if (!line.too_long && line.text.find_first_not_of(" \t") == std::string::npos) co_return;
    std::optional<jsonrpc::decode_error> failure;
    jsonrpc::payload payload;
    try {
        if (line.too_long)
            throw jsonrpc::decode_error(rpc_code::invalid_request,
                                        "Invalid request: the line is longer than HTTP_MAX_BODY_MB allows", nullptr);
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
        start_batch(std::move(payload));
    } else {
        core_.start(std::move(payload.messages.front()),
                    {.era = era_of_peer::both, .client = session_, .reply = sink_});
    }
}

// No message of a batch claims the stateless era, which has none.
void stdio_connection::start_batch(jsonrpc::payload received)
{
    auto& messages = received.messages;
    const auto is_request = [](const auto& message) { return std::holds_alternative<jsonrpc::request>(message); };
    const auto requests = std::count_if(messages.begin(), messages.end(), is_request);
    const auto whole = std::make_shared<batch>(static_cast<std::size_t>(requests), sink_, batches_);
    for (auto& message : messages)
        core_.start(std::move(message), {.era = era_of_peer::session, .client = session_, .reply = whole});
}

awaitable<bool> stdio_connection::answered(std::chrono::milliseconds limit)
{
    const bool ended = co_await core_.requests_ended(limit);
    const bool sent = co_await batches_.wait_idle(limit);
    co_return ended&& sent;
}

awaitable<> read_lines(descriptor_stream& stream, line_splitter& lines, stdio_connection& connection)
{
    auto state = co_await asio::this_coro::cancellation_state;
    while (state.cancelled() == asio::cancellation_type::none) {
        std::string bytes = co_await stream.read_some();
        if (bytes.empty()) break;
        lines.append(bytes);
        while (auto line = lines.next()) co_await connection.take(std::move(*line));
    }
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

}  // namespace

awaitable<> serve_stdio(server_core& core, const settings& config, int input, int output)
{
    ignore_broken_pipes();
    auto executor = co_await asio::this_coro::executor;
    const jsonrpc::decode_limits limits{config.json_depth, config.json_batch};
    auto sink = std::make_shared<stdio_sink>(executor, output);
    task_group writer(executor);
    writer.spawn("standard output", sink->run());
    descriptor_stream stream(executor, input);
    line_splitter lines(config.max_body_bytes);
    stdio_connection connection(executor, core, limits, sink);
    co_await read_until_cancelled(stream, lines, connection);
    core.refuse_new_requests();
    const bool answered = co_await connection.answered(config.drain_timeout);
    if (!answered) {
        core.cancel_all();
        co_await connection.answered(config.drain_timeout);
    }
    sink->finish();
    co_await writer.wait_idle(config.drain_timeout);
}

}  // namespace cmcp
