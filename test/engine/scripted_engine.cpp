#include "test/engine/scripted_engine.hpp"

#include "jsonrpc/write_json.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <stdlib.h>

namespace cmcp::test {

namespace http = boost::beast::http;

namespace {

std::filesystem::path fresh_folder()
{
    std::string name = "/tmp/cmcp-engine-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return name;
}

}  // namespace

std::string frame(int stream, std::string_view bytes)
{
    const auto size = bytes.size();
    std::string frame{static_cast<char>(stream),
                      0,
                      0,
                      0,
                      static_cast<char>(size >> 24),
                      static_cast<char>(size >> 16),
                      static_cast<char>(size >> 8),
                      static_cast<char>(size)};
    frame += bytes;
    return frame;
}

scripted_engine::scripted_engine(asio::io_context& io)
    : folder(fresh_folder()),
      io_(io),
      acceptor_(io, asio::local::stream_protocol::endpoint(socket())),
      tasks_(io.get_executor())
{
    tasks_.spawn("accept", accept());
}

scripted_engine::~scripted_engine()
{
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

void scripted_engine::print(std::string bytes)
{
    output_ += bytes;
    changed_.notify();
}

void scripted_engine::exit(int code)
{
    if (!running_) return;
    running_ = false;
    ended_ = true;
    code_ = code;
    changed_.notify();
}

bool scripted_engine::was_asked(const std::string& what) const
{
    return std::find(requests.begin(), requests.end(), what) != requests.end();
}

std::string scripted_engine::mounted(const std::string& target) const
{
    for (const auto& each : container.at("HostConfig").at("Mounts").as_array())
        if (std::string(each.at("Target").as_string()) == target) return std::string(each.at("Source").as_string());
    return {};
}

awaitable<> scripted_engine::accept()
{
    for (;;) {
        auto connection = std::make_shared<stream>(io_);
        auto [failure] = co_await acceptor_.async_accept(*connection, as_tuple);
        if (failure) co_return;
        tasks_.spawn("serve", serve(std::move(connection)));
    }
}

awaitable<> scripted_engine::serve(std::shared_ptr<stream> connection)
{
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    auto [failure, size] = co_await http::async_read(*connection, buffer, request, as_tuple);
    if (failure) co_return;
    std::string target(request.target());
    target = target.substr(target.find('/', 1));
    const std::string method(request.method_string());
    requests.push_back(method + " " + target.substr(0, target.find('?')));
    if (target.find("/attach") != std::string::npos) {
        auto attaching = attach(std::move(connection));
        co_await std::move(attaching);
        co_return;
    }
    auto answering = answer(method, std::move(target), std::move(request.body()));
    auto [status, body] = co_await std::move(answering);
    http::response<http::string_body> response(static_cast<http::status>(status), 11);
    response.body() = std::move(body);
    if (status != 204) response.prepare_payload();
    co_await http::async_write(*connection, response, as_tuple);
}

awaitable<> scripted_engine::attach(std::shared_ptr<stream> connection)
{
    const std::string head =
        "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
        "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
    auto [failure, size] = co_await asio::async_write(*connection, asio::buffer(head), as_tuple);
    while (!failure && !(output_.empty() && ended_)) {
        const std::string bytes = std::exchange(output_, {});
        for (std::size_t at = 0; at < bytes.size();) {
            auto [unsent, part] = co_await connection->async_write_some(asio::buffer(bytes) + at, as_tuple);
            if (unsent) co_return;
            at += part;
            sent += part;
        }
        if (output_.empty() && !ended_) co_await changed_.wait();
    }
}

awaitable<std::pair<int, std::string>> scripted_engine::answer(std::string method, std::string target, std::string body)
{
    using reply = std::pair<int, std::string>;
    const std::string what = method + " " + target.substr(0, target.find('?'));
    if (what == "GET /info")
        co_return reply(
            200,
            std::string(
                R"({"BuildahVersion": "1", "CgroupVersion": "2", "DefaultRuntime": "crun", "PidsLimit": true, "MemoryLimit": )") +
                (memory_limit ? "true}" : "false}"));
    if (what == "GET /images/there/json") co_return reply(200, R"({"Config": {"Volumes": {"/data": {}}}})");
    if (what == "GET /containers/json") co_return reply(200, jsonrpc::write_json(json::value(left)));
    if (what == "POST /containers/create") {
        if (!refusal.empty()) co_return reply(500, jsonrpc::write_json(json::object{{"message", refusal}}));
        container = json::parse(body).as_object();
        ended_ = false;
        co_return reply(201, R"({"Id": "c1", "Warnings": []})");
    }
    if (what == "POST /containers/c1/start") {
        running_ = true;
        program();
        co_return reply(204, {});
    }
    if (what == "POST /containers/c1/kill") {
        const bool runs = running_;
        exit(137);
        co_return reply(runs ? 204 : 409, runs ? "" : R"({"message": "not running"})");
    }
    if (what == "POST /containers/c1/wait") {
        while (!ended_) co_await changed_.wait();
        co_return reply(200, R"({"StatusCode": )" + std::to_string(code_) + "}");
    }
    if (what == "GET /containers/c1/json")
        co_return reply(
            200, jsonrpc::write_json(json::object{{"State", {{"OOMKilled", out_of_memory}, {"ExitCode", code_}}}}));
    if (what == "GET /containers/c1/stats") co_return reply(200, R"({"memory_stats": {"max_usage": 12345678}})");
    if (method == "DELETE") co_return reply(204, {});
    co_return reply(404, R"({"message": "no such thing"})");
}

}  // namespace cmcp::test
