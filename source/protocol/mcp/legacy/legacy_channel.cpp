#include "mcp/legacy/legacy_channel.hpp"

#include "jsonrpc/rpc_error.hpp"
#include "mcp/client_capability.hpp"

namespace cmcp {

namespace {

struct answer {
    event arrived;
    bool done = false;
    json::object result;
    std::optional<rpc_error> failure;
};

rpc_error client_error(const json::object& error)
{
    const auto* code = error.if_contains("code");
    const auto* message = error.if_contains("message");
    std::string sentence = "the client answered with an error";
    if (message && message->is_string()) sentence += ": " + std::string(message->get_string());
    return {code && code->is_int64() ? static_cast<int>(code->get_int64()) : rpc_code::internal_error, sentence};
}

/// Registers a request to the client for as long as somebody waits for its answer.
class client_request {
public:
    client_request(std::shared_ptr<session> who, std::shared_ptr<answer> waiting,
                   legacy_channel::request_ids& abandoned)
        : who_(std::move(who)), waiting_(waiting), abandoned_(abandoned), id_(who_->next_request_id++)
    {
        who_->open_requests[id_] = [waiting](const json::object* result, const json::object* error) {
            waiting->done = true;
            if (result) waiting->result = *result;
            if (error) waiting->failure = client_error(*error);
            waiting->arrived.notify();
        };
    }
    client_request(const client_request&) = delete;
    client_request& operator=(const client_request&) = delete;
    ~client_request()
    {
        who_->open_requests.erase(id_);
        if (sent_ && !waiting_->done) abandoned_.push_back(id_);
    }

    std::int64_t id() const { return id_; }
    void sent() { sent_ = true; }
    void forget() { sent_ = false; }  ///< it is taken back already

private:
    std::shared_ptr<session> who_;
    std::shared_ptr<answer> waiting_;
    legacy_channel::request_ids& abandoned_;
    bool sent_ = false;
    std::int64_t id_;
};

}  // namespace

legacy_channel::legacy_channel(std::shared_ptr<session> who, std::shared_ptr<message_sink> sink,
                               const json::object* meta, request_ids& abandoned)
    : request_channel(std::move(sink), meta), who_(std::move(who)), abandoned_(abandoned)
{
}

awaitable<json::object> legacy_channel::ask(std::string, std::string method, json::object params)
{
    const auto never = event::clock::time_point::max();
    auto result = co_await ask_until(std::move(method), std::move(params), never);
    co_return std::move(*result);
}

bool legacy_channel::can_ask(std::string_view method, const json::object& params) const
{
    return supports_request(who_->who, method, params);
}

awaitable<std::optional<json::object>> legacy_channel::ask_meanwhile(std::string, std::string method,
                                                                     json::object params,
                                                                     std::chrono::milliseconds limit)
{
    return ask_until(std::move(method), std::move(params), event::clock::now() + limit);
}

awaitable<std::optional<json::object>> legacy_channel::ask_until(std::string method, json::object params,
                                                                 event::clock::time_point limit)
{
    const auto needed = capability_needed(method, params);
    if (!has_capability(who_->who.client_capabilities, needed))
        throw rpc_error(rpc_code::invalid_params, "the client did not declare the capability " +
                                                      json::serialize(needed) + ", which this request needs");
    auto waiting = std::make_shared<answer>();
    client_request open_request(who_, waiting, abandoned_);
    outgoing message;
    message.what = outgoing::kind::request;
    message.id = open_request.id();
    message.method = std::move(method);
    message.params = std::move(params);
    const bool sent = co_await sink_->send(std::move(message));
    if (!sent) throw rpc_error(rpc_code::internal_error, "the client is gone before it could be asked");
    open_request.sent();
    bool in_time = true;
    while (!waiting->done && in_time) in_time = co_await waiting->arrived.wait(limit);
    if (!waiting->done) {
        open_request.forget();
        request_ids late{open_request.id()};
        auto taking_back = cancel_client_requests(sink_, std::move(late), "nobody answered in time");
        co_await std::move(taking_back);
        co_return std::nullopt;
    }
    if (waiting->failure) throw *waiting->failure;
    co_return std::move(waiting->result);
}

awaitable<> cancel_client_requests(std::shared_ptr<message_sink> sink, legacy_channel::request_ids ids, std::string why)
{
    for (const auto id : ids) {
        outgoing message;
        message.method = "notifications/cancelled";
        message.params["requestId"] = id;
        message.params["reason"] = why;
        co_await sink->send(std::move(message));
    }
}

}  // namespace cmcp
