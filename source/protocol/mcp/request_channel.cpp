#include "mcp/request_channel.hpp"

#include "jsonrpc/absent.hpp"
#include "mcp/request_io.hpp"
#include "mcp/reserved_names.hpp"
#include "text/utf8_text.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t most_in_message = 64 * 1024;  // bytes of output

json::value progress_token(const json::object* meta)
{
    const auto* sent = meta ? jsonrpc::given(*meta, "progressToken", json::kind::string) : nullptr;
    if (!sent) return nullptr;
    if (!sent->is_string() && !sent->is_number())
        throw rpc_error(rpc_code::invalid_params, "Invalid params: `_meta.progressToken` must be a string or a number");
    json::value token = *sent;
    jsonrpc::make_whole(token);
    return token;
}

json::value number(double value)
{
    if (std::trunc(value) == value && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
    return value;
}

json::object stream_position(const output_text& piece)
{
    json::object meta;
    meta[reserved_name::stream] = piece.from == output_stream::out ? "stdout" : "stderr";
    meta[reserved_name::offset] = piece.offset;
    return meta;
}

// A single text for each stream; the text that began first is in front.
std::vector<output_text> joined_by_stream(std::vector<output_text> texts)
{
    std::vector<output_text> joined;
    for (auto& piece : texts) {
        const auto same =
            std::find_if(joined.begin(), joined.end(), [&](const auto& each) { return each.from == piece.from; });
        if (same == joined.end())
            joined.push_back(std::move(piece));
        else
            same->text += piece.text;
    }
    return joined;
}

}  // namespace

request_channel::request_channel(std::shared_ptr<message_sink> sink, const json::object* meta)
    : sink_(std::move(sink)), token_(progress_token(meta))
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

json::object request_channel::progress_params(double progress)
{
    json::object params;
    params["progressToken"] = token_;
    params["progress"] = number(next_progress(progress));
    return params;
}

// 2024-11-05 has no word on `message`, and leaves the params open: its clients get the text as all others do.
awaitable<> request_channel::progress(double progress, std::optional<double> total, std::string message)
{
    if (token_.is_null()) co_return;
    json::object params = progress_params(progress);
    if (total) params["total"] = number(*total);
    if (!message.empty()) params["message"] = message;
    co_await notify("notifications/progress", std::move(params));
}

awaitable<> request_channel::output(double progress, std::vector<output_text> texts)
{
    if (token_.is_null()) co_return;
    auto joined = joined_by_stream(std::move(texts));
    for (auto& piece : joined) {
        for (std::string_view rest = piece.text; !rest.empty();) {
            const auto part = utf8_prefix(rest, most_in_message);
            json::object params = progress_params(progress);
            params["_meta"] = stream_position(piece);
            params["message"] = part;
            co_await notify("notifications/progress", std::move(params));
            rest.remove_prefix(part.size());
            piece.offset += part.size();
            if (!rest.empty()) co_await asio::post(asio::use_awaitable);  // others have their turn in between
        }
    }
}

awaitable<> request_channel::log(log_severity level, std::string logger, json::value data)
{
    if (!lets_through(level)) co_return;
    json::object params;
    params["level"] = to_string(level);
    if (!logger.empty()) params["logger"] = logger;
    params["data"] = std::move(data);
    co_await notify("notifications/message", std::move(params));
}

awaitable<> request_channel::notify(std::string method, json::object params)
{
    outgoing message;
    message.method = std::move(method);
    message.params = std::move(params);
    co_await sink_->send(std::move(message));
}

}  // namespace cmcp
