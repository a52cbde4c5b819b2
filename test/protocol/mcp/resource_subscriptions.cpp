#include "jsonrpc/rpc_error.hpp"
#include "mcp/change_hub.hpp"
#include "test/protocol/mcp/harness.hpp"
#include "test/support/catch.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

using namespace cmcp;
using namespace cmcp::test;

namespace {

/// Memos are observable; those that someone observes are listed in `observed`.
class memos final : public resource_provider {
public:
    struct observer {
        std::string uri;
        std::function<void()> changed;
    };
    using observers = std::list<observer>;

    explicit memos(std::shared_ptr<observers> all) : all_(std::move(all)) {}

    awaitable<json::array> list(const caller&) override { co_return json::array(); }
    json::array templates() const override { return {}; }
    awaitable<std::optional<json::array>> read(const caller&, std::string) override { co_return std::nullopt; }
    std::shared_ptr<void> observe(const caller&, const std::string& uri, std::function<void()> changed) override
    {
        if (!uri.starts_with("memo://")) return nullptr;
        const auto entry = all_->insert(all_->end(), observer{uri, std::move(changed)});
        return std::shared_ptr<void>(all_.get(), [all = all_, entry](void*) { all->erase(entry); });
    }

private:
    std::shared_ptr<observers> all_;
};

struct memo_server {
    memo_server() { server.core.add_resources(std::make_unique<memos>(all)); }
    void change(std::string_view uri)
    {
        for (const auto& each : *all)
            if (each.uri == uri) each.changed();
    }
    std::shared_ptr<memos::observers> all = std::make_shared<memos::observers>();
    harness server;
};

json::object uri_params(std::string_view uri)
{
    json::object params;
    params["uri"] = uri;
    return params;
}

}  // namespace

TEST_CASE("a session is told of the resources it subscribed to, until it unsubscribes")
{
    memo_server memo;
    auto& server = memo.server;
    server.initialize();
    server.client->general = server.sink;
    server.core.watch(server.client);
    result_of(server.request("resources/subscribe", uri_params("memo://a")));
    result_of(server.request("resources/subscribe", uri_params("memo://a")));
    CHECK(memo.all->size() == 1);
    memo.change("memo://a");
    const auto notification = server.next();
    CHECK(notification.at("method") == "notifications/resources/updated");
    CHECK(notification.at("params").at("uri") == "memo://a");
    result_of(server.request("resources/unsubscribe", uri_params("memo://a")));
    CHECK(memo.all->empty());
}

TEST_CASE("nothing is observed for a session that is gone")
{
    memo_server memo;
    memo.server.initialize();
    result_of(memo.server.request("resources/subscribe", uri_params("memo://a")));
    CHECK(memo.all->size() == 1);
    memo.server.client.reset();
    CHECK(memo.all->empty());
}

TEST_CASE("another process goes on with a session: its revision, client, log level and subscriptions")
{
    json::object state;
    {
        memo_server memo;
        auto& server = memo.server;
        int changes = 0;
        server.client->on_change = [&changes] { ++changes; };
        server.initialize("2025-06-18", parse(R"({"elicitation":{}})"));
        result_of(server.request("logging/setLevel", parse(R"({"level":"error"})")));
        result_of(server.request("resources/subscribe", uri_params("memo://a")));
        result_of(server.request("resources/subscribe", uri_params("memo://b")));
        result_of(server.request("resources/unsubscribe", uri_params("memo://b")));
        result_of(server.request("ping"));
        CHECK(changes == 5);
        state = server_core::state_of(*server.client);
        state["subscriptions"].as_array().emplace_back("other://gone");
    }
    memo_server memo;
    auto& server = memo.server;
    server.client->general = server.sink;
    server.core.take_up(server.client, state);
    CHECK(server.client->who.protocol == revision::v2025_06_18);
    CHECK(server.client->who.client_capabilities.contains("elicitation"));
    CHECK(server.client->who.client_info.at("name") == "test");
    CHECK(server.client->log_threshold == log_severity::error);
    CHECK(memo.all->size() == 1);
    memo.change("memo://a");
    CHECK(server.next().at("params").at("uri") == "memo://a");
    result_of(server.request("tools/list"));
    json::object bad{{"revision", "2026-07-28"}};
    CHECK_THROWS_AS(server.core.take_up(std::make_shared<session>(), bad), rpc_error);
}

TEST_CASE("what is no resource cannot be subscribed to")
{
    memo_server memo;
    memo.server.initialize();
    const auto refused = memo.server.request("resources/subscribe", uri_params("other://a"));
    CHECK(error_code(refused) == rpc_code::resource_not_found);
    CHECK(error_text(refused).find("other://a") != std::string::npos);
}

TEST_CASE("a listener is told of the resources that there are")
{
    memo_server memo;
    auto& server = memo.server;
    server.start_modern("subscriptions/listen",
                        parse(R"({"notifications":{"resourceSubscriptions":["memo://a","other://a"]}})"));
    const auto first = server.next();
    const auto& accepted = first.at("params").at("notifications").at("resourceSubscriptions").as_array();
    CHECK(accepted == json::array{"memo://a"});
    memo.change("memo://a");
    CHECK(server.next().at("params").at("uri") == "memo://a");
    server.core.refuse_new_requests();
    CHECK(result_of(server.next()).at("resultType") == "complete");
    CHECK(server.idle());
    CHECK(memo.all->empty());
}

TEST_CASE("very many subscribers are told of a change in several steps of the loop, each once")
{
    asio::io_context io;
    const auto no_task = [](std::string) -> awaitable<std::optional<json::object>> { co_return std::nullopt; };
    change_hub hub(io.get_executor(), no_task);
    std::vector<std::shared_ptr<memory_sink>> sinks;
    std::vector<std::shared_ptr<change_listener>> listeners;
    change_filter filter;
    filter.tools = true;
    const auto nothing = [](const change&, const change_listener::heard_function&) { return std::shared_ptr<void>(); };
    for (int i = 0; i < 1500; ++i) {
        sinks.push_back(std::make_shared<memory_sink>(io.get_executor()));
        listeners.push_back(hub.listen(filter, i, nothing, sinks.back(), [] {}));
    }
    const auto with_messages = [&sinks](std::size_t count) {
        return std::ranges::count_if(sinks, [count](const auto& each) { return each->messages.size() == count; });
    };
    io.run();
    CHECK(with_messages(1) == 1500);  // the acknowledgement
    hub.publish({"notifications/tools/list_changed", {}});
    std::ptrdiff_t told_before_others = 0;
    asio::post(io, [&] { asio::post(io, [&] { told_before_others = with_messages(2); }); });
    io.restart();
    io.run();
    CHECK(told_before_others < 1000);
    CHECK(with_messages(2) == 1500);
    hub.close();
    io.restart();
    io.run();
}
