#include "mcp/request_channel.hpp"

#include "jsonrpc/message.hpp"
#include "mcp/severity.hpp"

#include <algorithm>
#include <cmath>

namespace cmcp {

namespace {

json::value progress_token(const json::object* meta)
{
    const auto* token = meta ? meta->if_contains("progressToken") : nullptr;
    if (!token) return nullptr;
    if (!token->is_string() && !token->is_int64() && !token->is_uint64())
        throw rpc_error(rpc_code::invalid_params,
                        "Invalid params: `_meta.progressToken` must be a string or an integer");
    return *token;
}

json::value number(double value)
{
    if (std::trunc(value) == value && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
    return value;
}

}  // namespace

request_channel::request_channel(revision protocol, std::shared_ptr<message_sink> sink, const json::object* meta)
    : protocol_(protocol), sink_(std::move(sink)), token_(progress_token(meta))
{
}

double request_channel::next_progress(double wanted)
{
    if (!std::isfinite(wanted)) wanted = last_progress_;
    // A step that survives being written and read by parsers that do not round exactly.
    if (!(wanted > last_progress_)) wanted = last_progress_ + std::max(0.001, std::abs(last_progress_) * 1e-9);
    if (!std::isfinite(wanted)) wanted = 0;
    last_progress_ = wanted;
    return wanted;
}

awaitable<> request_channel::progress(double progress, std::optional<double> total, std::string message)
{
    if (token_.is_null()) co_return;
    json::object params;
    params["progressToken"] = token_;
    params["progress"] = number(next_progress(progress));
    if (total) params["total"] = number(*total);
    if (!message.empty() && protocol_ >= revision::v2025_03_26) params["message"] = std::move(message);
    co_await notify("notifications/progress", std::move(params));
}

awaitable<> request_channel::log(log_severity level, std::string logger, json::value data)
{
    if (!lets_through(level)) co_return;
    json::object params;
    params["level"] = to_string(level);
    if (!logger.empty()) params["logger"] = std::move(logger);
    params["data"] = std::move(data);
    co_await notify("notifications/message", std::move(params));
}

awaitable<> request_channel::notify(std::string method, json::object params)
{
    outgoing message;
    message.text = jsonrpc::encode_notification(method, params);
    co_await sink_->send(std::move(message));
}

}  // namespace cmcp
