#include "mcp/modern_channel.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/input_required.hpp"

namespace cmcp {

modern_channel::modern_channel(const caller& who, std::shared_ptr<message_sink> sink, const json::object* meta,
                               std::optional<log_severity> log_threshold, json::object known,
                               std::shared_ptr<task_call> may_go_on)
    : request_channel(std::move(sink), meta),
      caller_(who),
      log_threshold_(log_threshold),
      known_(std::move(known)),
      call_(std::move(may_go_on))
{
}

bool modern_channel::takes_task() const { return call_ && declares_tasks(caller_); }

std::string modern_channel::become_task(std::string status_message)
{
    return call_ ? call_->become(status_message).record().id : request_io::become_task(std::move(status_message));
}

job_io* modern_channel::background()
{
    if (!background_ && has_become()) background_.emplace(call_->jobs(), call_->became(), &caller_);
    return background_ ? &*background_ : nullptr;
}

awaitable<> modern_channel::progress(double progress, std::optional<double> total, std::string message)
{
    if (auto* io = background()) return io->progress(progress, total, std::move(message));
    return request_channel::progress(progress, total, std::move(message));
}

awaitable<> modern_channel::output(double progress, std::vector<output_text> texts)
{
    if (auto* io = background()) return io->output(progress, std::move(texts));
    return request_channel::output(progress, std::move(texts));
}

awaitable<> modern_channel::log(log_severity level, std::string logger, json::value data)
{
    if (auto* io = background()) return io->log(level, std::move(logger), std::move(data));
    return request_channel::log(level, std::move(logger), std::move(data));
}

awaitable<> modern_channel::notify(std::string method, json::object params)
{
    if (auto* io = background()) return io->notify(std::move(method), std::move(params));
    return request_channel::notify(std::move(method), std::move(params));
}

awaitable<json::object> modern_channel::ask(std::string key, std::string method, json::object params)
{
    if (auto* io = background()) {
        auto answer = co_await io->ask(std::move(key), std::move(method), std::move(params));
        co_return answer;
    }
    if (const auto* answer = known_.if_contains(key)) {
        used_[key] = *answer;
        co_return answer->as_object();
    }
    require_capability(caller_, method, params);
    json::object input_request;
    input_request["method"] = method;
    input_request["params"] = std::move(params);
    input_required needed;
    needed.input_requests[key] = std::move(input_request);
    throw needed;
}

awaitable<std::optional<json::object>> modern_channel::ask_and_wait(json::object input_requests)
{
    if (!has_become()) co_return std::nullopt;
    auto answers = co_await call_->became()->ask(std::move(input_requests));
    co_return answers;
}

bool modern_channel::can_ask(std::string_view method, const json::object& params) const
{
    return call_ && supports_request(caller_, method, params);
}

awaitable<std::optional<json::object>> modern_channel::ask_meanwhile(std::string key, std::string method,
                                                                     json::object params,
                                                                     std::chrono::milliseconds limit)
{
    if (!call_) return request_io::ask_meanwhile(std::move(key), std::move(method), std::move(params), limit);
    call_->become("waits for an answer");
    return background()->ask_meanwhile(std::move(key), std::move(method), std::move(params), limit);
}

void modern_channel::close_stream_for_polling()
{
    if (!has_become()) request_channel::close_stream_for_polling();
}

}  // namespace cmcp
