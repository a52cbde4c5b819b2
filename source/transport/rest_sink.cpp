#include "transport/rest_sink.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/reserved_names.hpp"
#include "transport/sse_frame.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_untaken = 1 << 20;
constexpr std::size_t deepest = 512;

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
        take_response(message.text);
        co_return true;
    }
    take_notification(message.text);
    changed_.notify();
    while (events_.size() >= most_untaken && !closed_) co_await changed_.wait();
    co_return !closed_;
}

void rest_sink::take_response(const std::string& text)
{
    auto parsed = jsonrpc::read_object(text, deepest);
    if (auto* result = parsed.if_contains("result"); result != nullptr && result->is_object())
        result_ = std::move(result->get_object());
    if (auto* error = parsed.if_contains("error"); error != nullptr && error->is_object())
        error_ = std::move(error->get_object());
    ended_ = true;
    changed_.notify();
}

void rest_sink::take_notification(const std::string& text)
{
    const auto parsed = jsonrpc::read_object(text, deepest);
    const auto* method = parsed.if_contains("method");
    const auto* params = parsed.if_contains("params");
    if (method == nullptr || params == nullptr) return;
    if (*method == "notifications/progress") events_ += progress_event(params->as_object());
    if (*method == "notifications/message") events_ += event_of("log", params->as_object());
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
