#include "mcp/running_request.hpp"

#include "log/log.hpp"
#include "mcp/params.hpp"
#include "mcp/request_log.hpp"
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
    log::error("request_failed", {{"request", request.ids.own},
                                  {"method", request.method},
                                  {"reason", what},
                                  {"trace", log::unless_empty(request.trace.trace)}});
    return {rpc_code::internal_error,
            "Internal error (request " + request.ids.own + "; the server's log has the reason)"};
}

rpc_error failed(const running_request& request, const boost::system::system_error& failure)
{
    // Not cancelled by anyone: something below gave up by itself.
    return unexpected(request, failure.what());
}

std::string_view how_it_ended(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    if (done.asked) return "input_required";
    return done.error ? "error" : "ok";
}

awaitable<outcome> guarded(std::shared_ptr<running_request> request, awaitable<json::object> work)
{
    const auto began = std::chrono::steady_clock::now();
    outcome done;
    try {
        json::object result = co_await std::move(work);
        done.result = std::move(result);
    } catch (const rpc_error& error) {
        done.error = std::make_unique<rpc_error>(error);
    } catch (const input_required&) {
        done.asked = true;
    } catch (const boost::system::system_error& failure) {
        const bool aborted = failure.code() == asio::error::operation_aborted;
        if (!aborted || !request->cancelled()) done.error = std::make_unique<rpc_error>(failed(*request, failure));
    } catch (const std::exception& failure) {
        if (!request->cancelled()) done.error = std::make_unique<rpc_error>(unexpected(*request, failure.what()));
    }
    record_end(*request, done, began);
    // What has been cancelled may await nothing; what is left to do for the request may.
    if (request->cancelled()) co_await asio::this_coro::reset_cancellation_state();
    co_return done;
}

// As a child with a cancellation of its own.
awaitable<outcome> apart(std::shared_ptr<running_request> request, awaitable<outcome> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto state = co_await asio::this_coro::cancellation_state;
    // The child is bound to its own signal, so the slot of this coroutine is free to pass cancellation on.
    if (state.slot().is_connected()) state.slot().assign([request](asio::cancellation_type) { request->cancel(); });
    auto token = asio::bind_cancellation_slot(request->ends->slot(), asio::use_awaitable);
    outcome done = co_await asio::co_spawn(executor, std::move(work), token);
    co_return done;
}

}  // namespace

void record_end(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began)
{
    static auto& requests = metrics::all().counters("cmcp_requests_total", "MCP requests by method and how they ended.",
                                                    {"method", "outcome"});
    static auto& times =
        metrics::all().histograms("cmcp_request_seconds", "Time of MCP requests by method.", {"method"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    // The request that waits for a call counts it, unless the call has gone on as a task.
    if (request.may_become_task && request.task.empty()) return;
    if (!request.may_become_task) {
        requests.at({request.method, how_it_ended(request, done)}).add();
        times.at({request.method}).observe(took.count());
    }
    log_end(request, done, took);
    if (metrics::spans().wants(request.trace)) metrics::spans().add(span_of(request, done, took));
}

void record_refusal(const jsonrpc::request_ids& ids, std::string_view method, const json::object& params,
                    std::shared_ptr<const caller> who, const rpc_error& why)
{
    if (method != tool_call_method) return;
    running_request request;
    request.ids = ids;
    request.method = method;
    request.target = target_of(params);
    request.who = std::move(who);
    outcome done;
    done.error = std::make_unique<rpc_error>(why);
    log_end(request, done, std::chrono::steady_clock::duration::zero());
}

awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work)
{
    auto whole = guarded(request, std::move(work));
    return request->in_place ? std::move(whole) : apart(std::move(request), std::move(whole));
}

}  // namespace cmcp
