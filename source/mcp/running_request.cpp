#include "mcp/running_request.hpp"

#include "log/log.hpp"
#include "mcp/request_span.hpp"
#include "metrics/registry.hpp"
#include "metrics/span_queue.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <string_view>

namespace cmcp {

namespace {

rpc_error unexpected(const running_request& request, const char* what)
{
    log::error("request failed", {{"request", request.log_id}, {"method", request.method}, {"trace", request.trace.trace}, {"reason", what}});
    return {rpc_code::internal_error, "Internal error (request " + request.log_id + ")"};
}

rpc_error failed(const running_request& request, const boost::system::system_error& failure)
{
    // Not cancelled by anyone: something below gave up by itself.
    return unexpected(request, failure.what());
}

std::string_view how_it_ended(const running_request& request, const outcome& done)
{
    if (request.cancelled) return "cancelled";
    if (done.asked) return "input_required";
    return done.error ? "error" : "ok";
}

void record(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began)
{
    static auto& requests = metrics::all().counters("cmcp_requests_total", "MCP requests by method and how they ended.",
                                                    {"method", "outcome"});
    static auto& times = metrics::all().histograms("cmcp_request_seconds", "Time of MCP requests by method.", {"method"});
    const auto ended = how_it_ended(request, done);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    requests.at({request.method, ended}).add();
    times.at({request.method}).observe(took.count());
    log::debug("mcp_request", {{"request", request.log_id},
                               {"method", request.method},
                               {"outcome", ended},
                               {"ms", took.count() * 1000},
                               {"trace", request.trace.trace}});
    if (metrics::spans().wants(request.trace)) metrics::spans().add(span_of(request, done, took));
}

awaitable<outcome> guarded(std::shared_ptr<running_request> request, awaitable<json::object> work)
{
    outcome done;
    try {
        json::object result = co_await std::move(work);
        done.result = std::move(result);
    } catch (const rpc_error& error) {
        done.error = error;
    } catch (const input_required& asked) {
        done.asked = asked;
    } catch (const boost::system::system_error& failure) {
        const bool aborted = failure.code() == asio::error::operation_aborted;
        if (!aborted || !request->cancelled) done.error = failed(*request, failure);
    } catch (const std::exception& failure) {
        if (!request->cancelled) done.error = unexpected(*request, failure.what());
    }
    co_return done;
}

}  // namespace

running_request::running_request()
{
    signal.slot().assign([this](asio::cancellation_type) { cancel(); });
}

void running_request::cancel()
{
    cancelled = true;
    child.emit(asio::cancellation_type::terminal);
}

awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work)
{
    const auto began = std::chrono::steady_clock::now();
    auto executor = co_await asio::this_coro::executor;
    auto state = co_await asio::this_coro::cancellation_state;
    // The child is bound to its own signal, so the slot of this coroutine is free to pass cancellation on.
    if (state.slot().is_connected())
        state.slot().assign([request](asio::cancellation_type) { request->cancel(); });
    auto job = guarded(request, std::move(work));
    auto token = asio::bind_cancellation_slot(request->child.slot(), asio::use_awaitable);
    outcome done = co_await asio::co_spawn(executor, std::move(job), token);
    record(*request, done, began);
    co_return done;
}

}  // namespace cmcp
