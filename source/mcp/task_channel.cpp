#include "mcp/task_channel.hpp"

#include <cmath>

namespace cmcp {

namespace {

std::string steps(double progress, std::optional<double> total)
{
    if (!total || !std::isfinite(progress)) return {};
    return std::to_string(std::llround(progress)) + " of " + std::to_string(std::llround(*total));
}

}  // namespace

std::string task_channel::become_task(std::string status_message) { return call_->become(status_message).id(); }

awaitable<> task_channel::progress(double progress, std::optional<double> total, std::string message)
{
    if (!became()) {
        co_await modern_channel::progress(progress, total, std::move(message));
        co_return;
    }
    became()->say(message.empty() ? steps(progress, total) : message);
}

awaitable<> task_channel::output(double progress, std::vector<output_text> texts)
{
    if (!became()) {
        co_await modern_channel::output(progress, std::move(texts));
        co_return;
    }
    for (const auto& piece : texts) became()->show(piece.text);
}

awaitable<> task_channel::log(log_severity level, std::string logger, json::value data)
{
    if (!became()) {
        co_await modern_channel::log(level, std::move(logger), std::move(data));
        co_return;
    }
    if (data.is_string()) became()->say(std::string_view(data.get_string()));
}

awaitable<> task_channel::notify(std::string method, json::object params)
{
    if (!became()) co_await modern_channel::notify(std::move(method), std::move(params));
}

awaitable<json::object> task_channel::ask(std::string key, std::string method, json::object params)
{
    if (!became()) {
        json::object answer = co_await modern_channel::ask(std::move(key), std::move(method), std::move(params));
        co_return answer;
    }
    require_capability(who(), method, params);
    json::object question;
    question["method"] = std::move(method);
    question["params"] = std::move(params);
    json::object questions;
    questions[key] = std::move(question);
    const auto asking = became();
    json::object answers = co_await asking->ask(std::move(questions));
    co_return std::move(answers.begin()->value().as_object());
}

awaitable<std::optional<json::object>> task_channel::ask_in_place(json::object questions)
{
    std::optional<json::object> answers;
    if (!became()) co_return answers;
    const auto asking = became();
    json::object given = co_await asking->ask(std::move(questions));
    answers = std::move(given);
    co_return answers;
}

void task_channel::close_stream_for_polling()
{
    if (!became()) modern_channel::close_stream_for_polling();
}

}  // namespace cmcp
