#include "test/inbound/transport/http_fixture.hpp"

#include "config/settings.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp::test {

namespace {

json::object open_schema()
{
    json::object schema;
    schema["type"] = "object";
    return schema;
}

class probing_tool : public tool {
public:
    probing_tool(std::string name, std::shared_ptr<tool_probe> probe) : probe_(std::move(probe))
    {
        definition_.name = std::move(name);
        definition_.description = "Fixture.";
        definition_.input_schema = open_schema();
        definition_.needs = scope::read;
    }

    const tool_definition& definition() const override { return definition_; }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        ++probe_->started;
        struct at_end {
            tool_probe& probe;
            bool done = false;
            ~at_end() { ++(done ? probe.finished : probe.cancelled); }
        } tells{*probe_};
        auto text = co_await run(context, std::move(arguments));
        tells.done = true;
        tool_result result;
        result.structured["text"] = text;
        co_return result;
    }

protected:
    virtual awaitable<std::string> run(tool_context& context, json::object arguments) = 0;

    awaitable<> wait_for_release()
    {
        while (!probe_->open) {
            auto [error] = co_await probe_->gate.async_wait(as_tuple);
            if (!error) break;
            auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none)
                throw boost::system::system_error(asio::error::operation_aborted);
        }
    }

    awaitable<> say(tool_context& context, std::string text)
    {
        json::object params;
        params["text"] = std::move(text);
        co_await context.io.notify("notifications/test", std::move(params));
        ++probe_->sent;
    }

    std::shared_ptr<tool_probe> probe_;

private:
    tool_definition definition_;
};

class echo_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context&, json::object arguments) override
    {
        auto* text = arguments.if_contains("text");
        co_return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
    }
};

class broken_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context&, json::object) override
    {
        throw std::runtime_error("inner detail");
        co_return std::string();
    }
};

class wait_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context&, json::object) override
    {
        co_await wait_for_release();
        co_return "released";
    }
};

class chat_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context& context, json::object arguments) override
    {
        auto count = arguments.at("count").to_number<int>();
        auto size = arguments.at("size").to_number<std::size_t>();
        for (int i = 0; i < count; ++i) co_await say(context, std::string(size, 'x'));
        co_return "said";
    }
};

class talk_and_wait_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context& context, json::object) override
    {
        co_await say(context, "before");
        co_await wait_for_release();
        co_await say(context, "after");
        co_return "done";
    }
};

class print_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context& context, json::object) override
    {
        std::vector<output_text> texts{{output_stream::out, 0, "one\n"}, {output_stream::err, 5, "two"}};
        co_await context.io.output(1, std::move(texts));
        json::value data = "what it does";
        co_await context.io.log(log_severity::info, "test", std::move(data));
        std::string no_message;
        co_await context.io.progress(2, std::nullopt, std::move(no_message));
        co_return "printed";
    }
};

class poll_tool : public probing_tool {
    using probing_tool::probing_tool;
    awaitable<std::string> run(tool_context& context, json::object) override
    {
        co_await say(context, "before");
        context.io.close_stream_for_polling();
        co_await wait_for_release();
        co_await say(context, "after");
        co_return "done";
    }
};

class unusable_tool : public echo_tool {
    using echo_tool::echo_tool;
    std::string obstacle() const override { return "It needs a wheel: set WHEEL."; }
};

template <class Tool>
void offer(server_core& core, std::string name, const std::shared_ptr<tool_probe>& probe)
{
    core.tools().add(std::make_unique<Tool>(std::move(name), probe));
}

}  // namespace

settings http_fixture::quick_settings()
{
    settings config;
    config.port = 0;
    config.drain_timeout = std::chrono::milliseconds(300);
    return config;
}

http_fixture::http_fixture(settings config, readiness_check ready, http_parts to)
    : http_fixture(std::move(config), std::move(ready), std::move(to), nullptr)
{
}

http_fixture::http_fixture(settings config, addition& more) : http_fixture(std::move(config), {}, {}, &more) {}

http_fixture::http_fixture(settings config, readiness_check ready, http_parts to, addition* more)
    : config_(std::move(config)),
      probe_(std::make_shared<tool_probe>(io_.get_executor())),
      core_(io_.get_executor(), server_identity{}, core_limits{.pool = pool_},
            std::make_shared<job_register>(io_.get_executor()))
{
    offer<echo_tool>(core_, "echo", probe_);
    offer<broken_tool>(core_, "broken", probe_);
    offer<wait_tool>(core_, "wait", probe_);
    offer<chat_tool>(core_, "chat", probe_);
    offer<print_tool>(core_, "print", probe_);
    offer<talk_and_wait_tool>(core_, "talk_and_wait", probe_);
    offer<poll_tool>(core_, "poll", probe_);
    offer<unusable_tool>(core_, "unusable", probe_);
    more_ = more;
    if (more != nullptr) to = more->add(io_, core_);
    server_ = std::make_unique<http_server>(
        io_, config_, bound_address(config_.host, config_.port, !config_.tls_cert.empty()), core_,
        [] { return json::value(json::array()); }, std::move(to), std::move(ready));
    port_ = server_->address().port();
    if (more != nullptr) more->before_start(io_, *server_);
    server_->start();
    thread_ = std::thread([this] { io_.run(); });
}

http_fixture::~http_fixture()
{
    stop();
    if (more_ != nullptr) asio::post(io_, [more = more_] { more->after_stop(); });
    thread_.join();
    if (more_ != nullptr) more_->after_stop();  // the thread may have ended before
}

std::future<void> http_fixture::begin_stop()
{
    stopped_ = true;
    return asio::co_spawn(io_, server_->stop(), asio::use_future);
}

void http_fixture::stop()
{
    if (!stopped_) begin_stop().get();
}

void http_fixture::release()
{
    asio::post(io_, [probe = probe_] {
        probe->open = true;
        probe->gate.cancel();
    });
}

std::string http_fixture::open_session(std::string_view revision)
{
    raw_client client(port_);
    auto begun = client.request(
        post("/mcp", R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
                         std::string(revision) + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})"));
    auto id = begun.field("mcp-session-id");
    client.request(post("/mcp", R"({"jsonrpc":"2.0","method":"notifications/initialized"})", in_session(id)));
    return id;
}

json::value http_fixture::health()
{
    raw_client client(port_);
    return client.request("GET /healthz?verbose HTTP/1.1\r\nHost: localhost\r\n\r\n").parsed();
}

std::string call(int id, std::string_view tool, std::string_view arguments)
{
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" +
           std::string(tool) + R"(","arguments":)" + std::string(arguments) + "}}";
}

std::string call_2026(int id, std::string_view tool, std::string_view arguments)
{
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" +
           std::string(tool) + R"(","arguments":)" + std::string(arguments) +
           R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
}

std::string headers_2026(std::string_view tool)
{
    return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: " + std::string(tool) + "\r\n";
}

std::string in_session(std::string_view id) { return "Mcp-Session-Id: " + std::string(id) + "\r\n"; }

raw_response request(http_fixture& server, const std::string& bytes)
{
    raw_client client(server.port());
    return client.request(bytes);
}

}  // namespace cmcp::test
