#include "transport/stdio_connection.hpp"

#include "jsonrpc/message.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

namespace cmcp {

namespace {

outgoing error_message(const json::value& id, const rpc_error& error)
{
    outgoing message;
    message.what = outgoing::kind::response;
    message.error_code = error.code;
    message.text = jsonrpc::encode_error(id, error);
    return message;
}

bool may_batch(const session& who) { return who.initialized && who.who.protocol <= revision::v2025_03_26; }

}  // namespace

// Collects the responses of a batch (2025-03-26) into one array; other messages go out at once.
struct stdio_connection::batch final : message_sink {
    explicit batch(std::shared_ptr<message_sink> target) : sink(std::move(target)) {}

    awaitable<bool> send(outgoing message) override
    {
        if (message.what == outgoing::kind::response) {
            responses += (responses.empty() ? "[" : ",") + message.text;
            co_return true;
        }
        const bool sent = co_await sink->send(std::move(message));
        co_return sent;
    }

    awaitable<> one_ended()
    {
        if (--open != 0 || responses.empty()) co_return;
        outgoing whole;
        whole.what = outgoing::kind::response;
        whole.text = std::move(responses) + "]";
        co_await sink->send(std::move(whole));
    }

    std::shared_ptr<message_sink> sink;
    std::string responses;
    std::size_t open = 0;
};

// Known by its id as long as it runs, for notifications/cancelled.
struct stdio_connection::modern_entry {
    modern_entry(stdio_connection& owner, std::string id_text) : connection(owner), key(std::move(id_text))
    {
        connection.modern_[key] = signal;
    }
    modern_entry(const modern_entry&) = delete;
    modern_entry& operator=(const modern_entry&) = delete;
    ~modern_entry() { connection.modern_.erase(key); }

    stdio_connection& connection;
    std::string key;
    std::shared_ptr<asio::cancellation_signal> signal = std::make_shared<asio::cancellation_signal>();
};

stdio_connection::stdio_connection(asio::any_io_executor executor, server_core& core, jsonrpc::decode_limits limits,
                                   std::shared_ptr<message_sink> sink)
    : core_(core), limits_(limits), sink_(std::move(sink)), session_(std::make_shared<session>()), requests_(executor)
{
    session_->general = sink_;
    session_->who.session = session_->who.session_tag = "stdio";
    core_.watch(session_);
}

awaitable<> stdio_connection::refuse(json::value id, rpc_error error)
{
    auto message = error_message(id, error);
    co_await sink_->send(std::move(message));
}

awaitable<> stdio_connection::take(line_splitter::line line)
{
    if (!line.too_long && line.text.find_first_not_of(" \t") == std::string::npos) co_return;
    std::optional<jsonrpc::decode_error> failure;
    jsonrpc::payload payload;
    try {
        if (line.too_long)
            throw jsonrpc::decode_error(rpc_code::invalid_request,
                                        "Invalid request: the line is longer than HTTP_MAX_BODY_MB allows", nullptr);
        payload = jsonrpc::decode(line.text, limits_);
        if (payload.batch && !may_batch(*session_))
            throw jsonrpc::decode_error(rpc_code::invalid_request,
                                        "Invalid request: batches are not part of this revision", nullptr);
    } catch (const jsonrpc::decode_error& error) {
        failure = error;
    }
    if (failure)
        co_await refuse(failure->id, *failure);
    else if (payload.batch)
        start_batch(std::move(payload.messages));
    else
        start(std::move(payload.messages.front()), sink_, nullptr);
}

void stdio_connection::start_batch(std::vector<jsonrpc::message> messages)
{
    auto whole = std::make_shared<batch>(sink_);
    whole->open = messages.size();
    for (auto& message : messages) start(std::move(message), whole, whole);
}

void stdio_connection::start(jsonrpc::message message, std::shared_ptr<message_sink> reply,
                             std::shared_ptr<batch> whole)
{
    auto* request = std::get_if<jsonrpc::request>(&message);
    if (cancels_modern(message)) return;
    const bool modern = request && (server_core::claims_modern(message) || request->method == "server/discover");
    if (modern && !whole)
        requests_.spawn(request->method, run_modern(std::move(*request)));
    else
        requests_.spawn("message", run_legacy(std::move(message), std::move(reply), std::move(whole)));
}

bool stdio_connection::cancels_modern(const jsonrpc::message& message)
{
    const auto* notification = std::get_if<jsonrpc::notification>(&message);
    if (!notification || notification->method != "notifications/cancelled") return false;
    const auto* id = notification->params.if_contains("requestId");
    const auto running = id ? modern_.find(json::serialize(*id)) : modern_.end();
    if (running == modern_.end()) return false;
    const auto signal = running->second;
    signal->emit(asio::cancellation_type::terminal);
    return true;
}

awaitable<> stdio_connection::run_legacy(jsonrpc::message message, std::shared_ptr<message_sink> reply,
                                         std::shared_ptr<batch> whole)
{
    const auto kept = shared_from_this();
    co_await core_.handle(session_, std::move(message), std::move(reply));
    if (whole) co_await whole->one_ended();
}

awaitable<> stdio_connection::run_modern(jsonrpc::request request)
{
    const auto kept = shared_from_this();
    auto key = json::serialize(request.id);
    if (modern_.contains(key)) {
        rpc_error in_use(rpc_code::invalid_request, "Invalid request: `id` " + key + " is in use by a running request");
        co_await refuse(request.id, std::move(in_use));
        co_return;
    }
    modern_entry entry(*this, std::move(key));
    auto executor = co_await asio::this_coro::executor;
    auto state = co_await asio::this_coro::cancellation_state;
    // Ended by notifications/cancelled or with this coroutine.
    auto signal = entry.signal;
    if (state.slot().is_connected())
        state.slot().assign([signal](asio::cancellation_type type) { signal->emit(type); });
    auto job = core_.handle_modern({}, std::move(request), sink_);
    auto token = asio::bind_cancellation_slot(signal->slot(), asio::use_awaitable);
    co_await asio::co_spawn(executor, std::move(job), token);
}

}  // namespace cmcp
