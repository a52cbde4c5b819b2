#include "transport/rest_sink.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_untaken = 1 << 20;

json::object parse(const std::string& text)
{
    json::parse_options limits;
    limits.max_depth = 512;
    json::error_code failure;
    json::value parsed = json::parse(text, failure, {}, limits);
    return !failure && parsed.is_object() ? std::move(parsed.as_object()) : json::object();
}

std::string progress_text(const std::string& message)
{
    const auto parsed = parse(message);
    const auto* params = parsed.if_contains("params");
    const auto* text = params != nullptr && params->is_object() ? params->get_object().if_contains("message") : nullptr;
    return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
}

}  // namespace

awaitable<bool> rest_sink::send(outgoing message)
{
    if (closed_) co_return false;
    if (message.what == outgoing::kind::response) {
        take_response(message.text);
        co_return true;
    }
    text_ += progress_text(message.text);
    changed_.tell();
    while (text_.size() >= most_untaken && !closed_) co_await changed_.wait(news::clock::time_point::max());
    co_return !closed_;
}

void rest_sink::take_response(const std::string& text)
{
    auto parsed = parse(text);
    if (auto* result = parsed.if_contains("result"); result != nullptr && result->is_object())
        result_ = std::move(result->get_object());
    if (auto* error = parsed.if_contains("error"); error != nullptr && error->is_object())
        error_ = std::move(error->get_object());
    ended_ = true;
    changed_.tell();
}

std::string rest_sink::take_text()
{
    auto taken = std::exchange(text_, {});
    changed_.tell();
    return taken;
}

void rest_sink::close()
{
    closed_ = true;
    changed_.tell();
}

}  // namespace cmcp
