#include "rest/rest_sink.hpp"

#include "jsonrpc/write_json.hpp"
#include "mcp/reserved_names.hpp"
#include "transport/sse_frame.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_untaken = 1 << 20;

std::string event_of(std::string_view kind, const json::object& params)
{
    std::string event;
    append_event(event, kind, jsonrpc::write_json(params), std::nullopt);
    return event;
}

std::string progress_event(const json::object& params)
{
    const auto* text = params.if_contains("message");
    const auto* meta = params.if_contains("_meta");
    if (text == nullptr) return ": heartbeat\n\n";
    if (meta == nullptr) return event_of("progress", params);
    const auto& place = meta->as_object();
    json::object data;
    data["text"] = *text;
    data["offset"] = place.at(reserved_name::offset);
    return event_of(place.at(reserved_name::stream).as_string(), data);
}

}  // namespace

awaitable<bool> rest_sink::send(outgoing message)
{
    if (closed_) co_return false;
    if (message.what == outgoing::kind::response) {
        take_response(std::move(message));
        co_return true;
    }
    take_notification(message.method, message.params);
    changed_.notify();
    while (events_.size() >= most_untaken && !closed_) co_await changed_.wait();
    co_return !closed_;
}

void rest_sink::take_response(outgoing message)
{
    result_ = std::move(message.result);
    error_ = std::move(message.error);
    ended_ = true;
    changed_.notify();
}

void rest_sink::take_notification(const std::string& method, const json::object& params)
{
    if (method == "notifications/progress") events_ += progress_event(params);
    if (method == "notifications/message") events_ += event_of("log", params);
}

std::string rest_sink::take_events()
{
    auto taken = std::exchange(events_, {});
    changed_.notify();
    return taken;
}

void rest_sink::close()
{
    closed_ = true;
    changed_.notify();
}

}  // namespace cmcp
