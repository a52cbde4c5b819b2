#include "mcp/job_io.hpp"

#include "mcp/client_capability.hpp"
#include "mcp/modern_channel.hpp"

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
    if (asks_ == nullptr) throw std::logic_error("a run in the background cannot ask anything");
    require_capability(*asks_, method, params);
    json::object question;
    question["method"] = method;
    question["params"] = std::move(params);
    json::object questions;
    questions[key] = std::move(question);
    json::object answers = co_await job_->ask(std::move(questions));
    co_return std::move(answers.begin()->value().as_object());
}

}  // namespace cmcp
