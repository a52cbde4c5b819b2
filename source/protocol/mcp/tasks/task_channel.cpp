#include "mcp/tasks/task_channel.hpp"

namespace cmcp {

std::string task_channel::become_task(std::string status_message) { return call_->become(status_message).record().id; }

job_io* task_channel::background()
{
    if (!background_ && call_->became()) background_.emplace(call_->jobs(), call_->became(), &who());
    return background_ ? &*background_ : nullptr;
}

awaitable<> task_channel::progress(double progress, std::optional<double> total, std::string message)
{
    if (auto* io = background()) return io->progress(progress, total, std::move(message));
    return modern_channel::progress(progress, total, std::move(message));
}

awaitable<> task_channel::output(double progress, std::vector<output_text> texts)
{
    if (auto* io = background()) return io->output(progress, std::move(texts));
    return modern_channel::output(progress, std::move(texts));
}

awaitable<> task_channel::log(log_severity level, std::string logger, json::value data)
{
    if (auto* io = background()) return io->log(level, std::move(logger), std::move(data));
    return modern_channel::log(level, std::move(logger), std::move(data));
}

awaitable<> task_channel::notify(std::string method, json::object params)
{
    if (auto* io = background()) return io->notify(std::move(method), std::move(params));
    return modern_channel::notify(std::move(method), std::move(params));
}

awaitable<json::object> task_channel::ask(std::string key, std::string method, json::object params)
{
    if (auto* io = background()) return io->ask(std::move(key), std::move(method), std::move(params));
    return modern_channel::ask(std::move(key), std::move(method), std::move(params));
}

awaitable<std::optional<json::object>> task_channel::ask_and_wait(json::object input_requests)
{
    if (call_->became()) return call_->became()->ask(std::move(input_requests));
    return modern_channel::ask_and_wait(std::move(input_requests));
}

bool task_channel::can_ask(std::string_view method, const json::object& params) const
{
    return supports_request(who(), method, params);
}

awaitable<std::optional<json::object>> task_channel::ask_meanwhile(std::string key, std::string method,
                                                                   json::object params, std::chrono::milliseconds limit)
{
    call_->become("waits for an answer");
    return background()->ask_meanwhile(std::move(key), std::move(method), std::move(params), limit);
}

void task_channel::close_stream_for_polling()
{
    if (!call_->became()) modern_channel::close_stream_for_polling();
}

}  // namespace cmcp
