#include "transport/stdio.hpp"

#include "transport/stdio_connection.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>

namespace cmcp {

namespace {

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

awaitable<> serve_stdio(server_core& core, const settings& chosen, int input, int output)
{
    ignore_broken_pipes();
    auto executor = co_await asio::this_coro::executor;
    const jsonrpc::decode_limits limits{chosen.json_depth, chosen.json_batch};
    auto sink = std::make_shared<stdio_sink>(executor, output);
    task_group writer(executor);
    writer.spawn("standard output", sink->run());
    descriptor_stream stream(executor, input);
    line_splitter lines(chosen.max_body_bytes);
    auto connection = std::make_shared<stdio_connection>(executor, core, limits, sink);
    co_await read_until_cancelled(stream, lines, *connection);
    core.refuse_new_requests();
    const bool answered = co_await connection->requests().wait_idle(chosen.drain_timeout);
    if (!answered) {
        core.cancel_all();
        co_await connection->requests().wait_idle(chosen.drain_timeout);
    }
    sink->finish();
    co_await writer.wait_idle(chosen.drain_timeout);
}

}  // namespace cmcp
