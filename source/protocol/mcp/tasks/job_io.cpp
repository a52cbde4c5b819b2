#include "mcp/tasks/job_io.hpp"

#include <cmath>

namespace cmcp {

namespace {

std::string steps(double progress, std::optional<double> total)
{
    if (!total || !std::isfinite(progress)) return {};
    return std::to_string(std::llround(progress)) + " of " + std::to_string(std::llround(*total));
}

}  // namespace

awaitable<> job_io::progress(double progress, std::optional<double> total, std::string message)
{
    job_->say(message.empty() ? steps(progress, total) : message);
    co_return;
}

awaitable<> job_io::output(double, std::vector<output_text> texts)
{
    std::string printed;
    for (const auto& each : texts) printed += each.text;
    co_await jobs_.print(job_, std::move(printed));
}

awaitable<> job_io::log(log_severity, std::string, json::value data)
{
    if (data.is_string()) job_->note(std::string(data.get_string()));
    co_return;
}

awaitable<json::object> job_io::ask(std::string key, std::string method, json::object params)
{
    const auto never = event::clock::time_point::max();
    auto result = co_await ask_until(std::move(key), std::move(method), std::move(params), never);
    co_return std::move(*result);
}

awaitable<std::optional<json::object>> job_io::ask_meanwhile(std::string key, std::string method, json::object params,
                                                             std::chrono::milliseconds limit)
{
    return ask_until(std::move(key), std::move(method), std::move(params), event::clock::now() + limit);
}

awaitable<std::optional<json::object>> job_io::ask_until(std::string key, std::string method, json::object params,
                                                         event::clock::time_point limit)
{
    if (asks_ == nullptr) throw std::logic_error("a run in the background cannot ask anything");
    require_capability(*asks_, method, params);
    json::object input_request;
    input_request["method"] = method;
    input_request["params"] = std::move(params);
    json::object input_requests;
    input_requests[key] = std::move(input_request);
    auto answers = co_await job_->ask(std::move(input_requests), limit);
    if (!answers) co_return std::nullopt;
    co_return std::move(answers->begin()->value().as_object());
}

}  // namespace cmcp
