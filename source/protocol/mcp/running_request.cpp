#include "mcp/running_request.hpp"

#include "log/log.hpp"
#include "log/request_id.hpp"
#include "mcp/params.hpp"
#include "mcp/request_record.hpp"

#include <boost/asio/this_coro.hpp>

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

}  // namespace

running_request::running_request(jsonrpc::request incoming, const caller* asks)
    : ids(std::move(incoming.ids)),
      method(std::move(incoming.method)),
      params(std::move(incoming.params)),
      is_long(incoming.is_long),
      digest(std::move(incoming.digest)),
      target(target_of(params)),
      who(asks),
      trace(trace_of(meta_of(params)))
{
    id = json::value(incoming.id, json::storage_ptr());  // not in the memory of the message
    if (ids.own.empty()) ids.own = log::next_id('r');
}

running_request::~running_request()
{
    if (is_long && discard) discard(std::move(params));
    registration.leave();
    if (reply) reply->request_ended();
}

const json::object* running_request::arguments() const
{
    const auto* sent = params.if_contains("arguments");
    return sent != nullptr ? sent->if_object() : nullptr;
}

void running_request::cancel()
{
    if (life.on(request_life::input::cancel) == request_life::action::stop) canceller::cancel();
}

void running_request::end_early(const std::string& why)
{
    if (const auto other = worker.lock()) return other->end_early(why);
    if (life.now() != request_life::state::running || !ended_because_.empty()) return;
    ended_because_ = why;
    canceller::cancel();
}

// The result keeps its memory, which an assignment would copy it out of.
outgoing answer_of(json::value id, outcome done)
{
    return {.what = outgoing::kind::response,
            .id = std::move(id),
            .result = done.result ? std::move(*done.result) : json::object(),
            .error = std::move(done.error)};
}

outgoing answer_of(json::value id, const rpc_error& error)
{
    outcome refused;
    refused.error = std::make_unique<rpc_error>(error);
    return answer_of(std::move(id), std::move(refused));
}

awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work)
{
    const auto began = std::chrono::steady_clock::now();
    request->began = began;
    outcome done;
    try {
        if (request->life.on(request_life::input::begin) == request_life::action::run) {
            json::object result = co_await std::move(work);
            done.result = std::move(result);
        }
    } catch (const rpc_error& error) {
        done.error = std::make_unique<rpc_error>(error);
    } catch (const std::exception& failure) {
        if (!request->ended_because().empty())
            done.error = std::make_unique<rpc_error>(rpc_code::server_error, request->ended_because());
        else if (!request->cancelled())
            done.error = std::make_unique<rpc_error>(unexpected(*request, failure.what()));
    }
    record_end(*request, done, began);
    // A cancelled coroutine may await nothing; there may be something left to do for the request.
    if (request->canceller::cancelled()) co_await asio::this_coro::reset_cancellation_state();
    request->life.on(request_life::input::finish);
    co_return done;
}

}  // namespace cmcp
