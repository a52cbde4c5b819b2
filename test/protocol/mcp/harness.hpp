#pragma once

#include "mcp/server_core.hpp"
#include "test/support/run_coroutine.hpp"

#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace cmcp::test {

/// Keeps what it is sent; lets a test wait for the next message.
class memory_sink final : public message_sink {
public:
    explicit memory_sink(asio::any_io_executor executor);

    awaitable<bool> send(outgoing message) override;
    awaitable<json::object> next();  ///< waits for a message

    std::deque<json::object> messages;

private:
    asio::steady_timer arrived_;
};

/// A tool of a definition and a function.
class test_tool final : public tool {
public:
    using function = awaitable<tool_result> (*)(tool_context& context, json::object arguments);

    test_tool(std::string name, function called, std::string_view schema = R"({"type":"object"})",
              task_use tasks = task_use::never);

    void about(unnamed_subject what) { definition_.about = what; }
    void reads_only() { definition_.annotations.read_only = true; }
    const tool_definition& definition() const override { return definition_; }
    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        return called_(context, std::move(arguments));
    }

private:
    tool_definition definition_;
    function called_;
};

/// A server core with a legacy client and a client of the current revision, in memory.
class harness {
public:
    explicit harness(core_limits limits = {});

    /// Sends a request of the older revisions and returns the whole response; other messages stay in `sink`.
    json::object request(std::string method, json::object params = {}, json::value id = 1);
    json::object modern(std::string method, json::object params = {}, json::object capabilities = {});
    void initialize(std::string_view revision = "2025-11-25", json::object capabilities = {});

    /// Starts a request without waiting for it; its task is in `tasks`.
    void start(std::string method, json::object params, json::value id = 1);
    void start_modern(std::string method, json::object params, json::object capabilities = {});
    void notify(std::string method, json::object params = {});
    void respond(json::value id, json::object result);

    /// Starts a message and waits until its request is over.
    static awaitable<> run(server_core& core, jsonrpc::message incoming, peer from);
    peer legacy_peer(std::shared_ptr<message_sink> reply) const;

    json::object next();  ///< the next message of `sink`
    bool idle();          ///< waits for the started requests

    asio::io_context io;
    server_core core;
    std::shared_ptr<session> client = std::make_shared<session>();
    std::shared_ptr<memory_sink> sink;
    task_group tasks;
};

json::object parse(std::string_view text);
json::object modern_params(json::object params, json::object capabilities);
int error_code(const json::object& response);
std::string error_text(const json::object& response);
const json::object& result_of(const json::object& response);

}  // namespace cmcp::test
