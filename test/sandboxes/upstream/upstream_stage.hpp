#pragma once

#include "async/blocking_pool.hpp"
#include "config/settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "sandbox/backend.hpp"
#include "test/outbound/web/origin.hpp"
#include "test/support/catch.hpp"
#include "test/support/eventually.hpp"
#include "test/support/run_coroutine.hpp"
#include "text/ascii.hpp"
#include "upstream/upstream_servers.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace cmcp::test {

/// Runs nothing: for servers over HTTP.
struct no_backend : sandbox::backend {
    awaitable<sandbox::run_result> run(sandbox::run_request, sandbox::output_receiver&) override
    {
        co_return sandbox::run_result();
    }
    awaitable<sandbox::layers> probe() override { co_return sandbox::layers(); }
    std::string_view name() const override { return "none"; }
};

inline json::object parsed(std::string_view text) { return json::parse(text).as_object(); }

/// A request that came to a peer.
struct heard {
    std::string head;      ///< of HTTP, in lower case
    json::object message;  ///< empty: a GET or DELETE
    std::string id;        ///< as JSON
    std::string method;    ///< of the message, or of HTTP
    json::object params;
};

/// The text of a response with this id.
inline std::string response(const heard& to, std::string_view result)
{
    return R"({"jsonrpc":"2.0","id":)" + to.id + R"(,"result":)" + std::string(result) + "}";
}

inline std::string event_of(const std::string& data) { return "event: message\ndata: " + data + "\n\n"; }

inline std::string header_of_events() { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"; }

inline script as_json(const heard& to, std::string_view result, std::string more = {})
{
    return send(answer(response(to, result), "application/json", std::move(more)));
}

/// The connection ends with the events.
inline script as_events(const std::string& events)
{
    return {{step::kind::send, header_of_events() + events, {}}, {step::kind::close, {}, {}}};
}

inline script refused(std::string status, std::string body = {})
{
    return send(answer(std::move(body), "application/json", {}, std::move(status)));
}

constexpr const char* one_tool =
    R"({"tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}]})";
constexpr const char* said_hello = R"({"content":[{"type":"text","text":"hello"}]})";

/// An MCP server over HTTP on loopback. Tests change what it answers to a method.
class peer {
public:
    using answers = std::function<script(const heard&)>;

    explicit peer(asio::io_context& io, bool stateless = false, asio::ssl::context* tls = nullptr) : web(io, tls)
    {
        web.answers = [this](const std::string& request) { return answer_to(request); };
        on["GET"] = [](const heard&) { return refused("405 Method Not Allowed"); };
        on["subscriptions/listen"] = [](const heard&) { return refused("404 Not Found"); };
        on["DELETE"] = [](const heard&) { return refused("200 OK"); };
        on["server/discover"] = [stateless](const heard& to) {
            if (stateless) return as_json(to, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})");
            return refused("400 Bad Request", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}})");
        };
        on["initialize"] = [this](const heard& to) {
            return as_json(to, R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}})",
                           "Mcp-Session-Id: session-" + std::to_string(++sessions) + "\r\n");
        };
        on["tools/list"] = [](const heard& to) { return as_json(to, one_tool); };
        on["tools/call"] = [](const heard& to) { return as_json(to, said_hello); };
    }

    std::size_t count(const std::string& method) const
    {
        std::size_t number = 0;
        for (const auto& each : requests) number += each.method == method ? 1 : 0;
        return number;
    }
    const heard& last(const std::string& method) const
    {
        for (auto at = requests.rbegin(); at != requests.rend(); ++at)
            if (at->method == method) return *at;
        throw std::runtime_error("no " + method + " came");
    }

    origin web;
    std::map<std::string, answers> on;
    std::vector<heard> requests;
    int sessions = 0;

private:
    script answer_to(const std::string& request)
    {
        const auto end = request.find("\r\n\r\n");
        heard one{lower_case(request.substr(0, end)), jsonrpc::read_object(request.substr(end + 4)), {}, {}, {}};
        one.method = one.message.empty() ? request.substr(0, request.find(' ')) : text_of(one.message, "method");
        if (const auto* id = one.message.if_contains("id")) one.id = jsonrpc::write_json(*id);
        one.params = object_of(one.message, "params");
        requests.push_back(one);
        const auto entry = on.find(one.method);
        return entry == on.end() ? refused("202 Accepted") : entry->second(one);
    }
};

/// Upstream servers over HTTP, of which the first is `peer`.
struct upstream_stage {
    explicit upstream_stage(bool stateless = false) : other(io, stateless) { config.upstreams = {entry("one", other)}; }
    ~upstream_stage()
    {
        if (servers) run_coroutine(io, servers->stop());
    }

    static upstream_entry entry(std::string name, const peer& at)
    {
        upstream_entry one;
        one.name = std::move(name);
        one.url = at.web.url("/mcp");
        one.timeout = std::chrono::seconds(60);
        one.origin = "config.toml:1";
        return one;
    }
    upstream_servers& all()
    {
        if (!servers) servers = std::make_unique<upstream_servers>(io.get_executor(), config, backend, pool, nullptr);
        return *servers;
    }
    std::vector<upstream_tool> tools(std::string principal = {})
    {
        return run_coroutine(io, all().tools(std::move(principal)));
    }
    std::vector<std::string> names()
    {
        std::vector<std::string> all_names;
        for (const auto& each : tools()) all_names.push_back(each.name);
        return all_names;
    }
    json::object call(std::string tool = "echo", json::object arguments = {}, std::string server = "one")
    {
        auto work = all().call("", std::move(server), std::move(tool), std::move(arguments), progress);
        return run_coroutine(io, std::move(work), std::chrono::seconds(60));
    }
    /// The sentence with which a call fails; empty: it does not.
    std::string failure(std::string tool = "echo")
    {
        try {
            call(std::move(tool));
        } catch (const upstream_problem& problem) {
            return problem.what();
        }
        return {};
    }
    std::string problems()
    {
        std::string text;
        for (const auto& each : all().problems({})) text += each.server + ": " + each.problem + "\n";
        return text;
    }

    asio::io_context io;
    blocking_pool pool;
    peer other;
    std::list<peer> others;  ///< further ones
    no_backend backend;
    settings config;
    upstream_progress_handler progress;
    std::unique_ptr<upstream_servers> servers;
};

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cmcp::test
