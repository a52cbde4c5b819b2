#include "test/protocol/mcp/harness.hpp"

#include "async/event.hpp"
#include "mcp/reserved_names.hpp"

namespace cmcp::test {

namespace {

// Passes messages on, and lets a test wait for the end of the request.
struct watched_sink final : message_sink {
    explicit watched_sink(std::shared_ptr<message_sink> to) : sink(std::move(to)) {}

    awaitable<bool> send(outgoing message) override { return sink->send(std::move(message)); }
    void request_ended() override
    {
        ended = true;
        over.notify();
    }

    event over;
    std::shared_ptr<message_sink> sink;
    bool ended = false;
};

}  // namespace

memory_sink::memory_sink(asio::any_io_executor executor) : arrived_(executor, asio::steady_timer::time_point::max()) {}

awaitable<bool> memory_sink::send(outgoing message)
{
    messages.push_back(parse(message.take_text()));
    arrived_.cancel();
    co_return true;
}

awaitable<json::object> memory_sink::next()
{
    while (messages.empty()) co_await arrived_.async_wait(as_tuple);
    auto message = std::move(messages.front());
    messages.pop_front();
    co_return message;
}

test_tool::test_tool(std::string name, function called, std::string_view schema, task_use tasks) : called_(called)
{
    definition_.tasks = tasks;
    definition_.name = std::move(name);
    definition_.description = "for a test";
    definition_.input_schema = parse(schema);
}

harness::harness(core_limits limits)
    : core(io.get_executor(), {"test", "Test", "1", "how to use it"}, limits,
           std::make_shared<job_register>(io.get_executor())),
      sink(std::make_shared<memory_sink>(io.get_executor())),
      tasks(io.get_executor())
{
}

// Until the request is over; its cancellation is passed on.
awaitable<> harness::run(server_core& core, jsonrpc::message incoming, peer from)
{
    const auto reply = std::make_shared<watched_sink>(std::move(from.reply));
    from.reply = reply;
    const canceller_at_end ends(core.start(std::move(incoming), std::move(from)));
    while (!reply->ended) co_await reply->over.wait();
}

peer harness::legacy_peer(std::shared_ptr<message_sink> reply) const
{
    return {.era = era_of_peer::session, .client = client, .reply = std::move(reply)};
}

json::object harness::request(std::string method, json::object params, json::value id)
{
    const auto own = std::make_shared<memory_sink>(io.get_executor());
    jsonrpc::request incoming{std::move(id), std::move(method), std::move(params)};
    run_coroutine(io, run(core, std::move(incoming), legacy_peer(own)));
    auto response = own->messages.empty() ? json::object() : own->messages.back();
    return response;
}

json::object harness::modern(std::string method, json::object params, json::object capabilities)
{
    const auto own = std::make_shared<memory_sink>(io.get_executor());
    jsonrpc::request incoming{1, std::move(method), modern_params(std::move(params), std::move(capabilities))};
    run_coroutine(io, run(core, std::move(incoming), {.reply = own}));
    return own->messages.empty() ? json::object() : own->messages.back();
}

void harness::initialize(std::string_view revision, json::object capabilities)
{
    json::object params;
    params["protocolVersion"] = revision;
    params["capabilities"] = std::move(capabilities);
    params["clientInfo"] = parse(R"({"name":"test","version":"1"})");
    const auto response = request("initialize", std::move(params));
    if (!response.contains("result")) throw std::runtime_error("initialize failed: " + json::serialize(response));
}

void harness::start(std::string method, json::object params, json::value id)
{
    jsonrpc::request incoming{std::move(id), std::move(method), std::move(params)};
    tasks.spawn("request", run(core, std::move(incoming), legacy_peer(sink)));
}

void harness::start_modern(std::string method, json::object params, json::object capabilities)
{
    jsonrpc::request incoming{1, std::move(method), modern_params(std::move(params), std::move(capabilities))};
    tasks.spawn("request", run(core, std::move(incoming), {.reply = sink}));
}

void harness::notify(std::string method, json::object params)
{
    jsonrpc::notification incoming{std::move(method), std::move(params)};
    core.start(std::move(incoming), legacy_peer(nullptr));
}

void harness::respond(json::value id, json::object result)
{
    jsonrpc::response incoming{std::move(id), std::move(result), {}};
    core.start(std::move(incoming), legacy_peer(nullptr));
}

json::object harness::next() { return run_coroutine(io, sink->next()); }

bool harness::idle() { return run_coroutine(io, tasks.wait_idle(std::chrono::seconds(10))); }

json::object parse(std::string_view text) { return json::parse(text).as_object(); }

json::object modern_params(json::object params, json::object capabilities)
{
    json::object meta;
    if (const auto* original = params.if_contains("_meta")) meta = original->as_object();
    meta[reserved_name::protocol_version] = "2026-07-28";
    meta[reserved_name::client_capabilities] = std::move(capabilities);
    params["_meta"] = std::move(meta);
    return params;
}

int error_code(const json::object& response)
{
    return static_cast<int>(response.at("error").as_object().at("code").as_int64());
}

std::string error_text(const json::object& response)
{
    return std::string(response.at("error").as_object().at("message").as_string());
}

const json::object& result_of(const json::object& response) { return response.at("result").as_object(); }

}  // namespace cmcp::test
