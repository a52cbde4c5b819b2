// A bare Beast responder: the upper bound that scripts/bench compares servers with. The responder is no MCP server:
// every POST gets the same result under the id in its body. JSON is not parsed, nothing is checked, and there are no
// sessions.
#include "async/asio.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using cmcp::as_tuple;

namespace {

std::string id_in(const std::string& body)
{
    auto at = body.find("\"id\":");
    return at == std::string::npos ? std::string() : body.substr(at + 5, body.find_first_of(",}", at) - at - 5);
}

http::response<http::string_body> answer_to(const http::request<http::string_body>& request)
{
    http::response<http::string_body> answer(http::status::ok, 11);
    answer.set(http::field::content_type, "application/json");
    auto id = id_in(request.body());
    if (id.empty())
        answer.result(http::status::accepted);
    else
        answer.body() =
            "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}}";
    if (id == "0") answer.set("Mcp-Session-Id", "0");
    answer.prepare_payload();
    return answer;
}

cmcp::awaitable<> serve(tcp::socket socket)
{
    boost::beast::flat_buffer buffer;
    socket.set_option(tcp::no_delay(true));
    for (;;) {
        http::request<http::string_body> request;
        auto [read_error, read_size] = co_await http::async_read(socket, buffer, request, as_tuple);
        if (read_error) co_return;
        auto answer = answer_to(request);
        auto [write_error, written] = co_await http::async_write(socket, answer, as_tuple);
        if (write_error) co_return;
    }
}

cmcp::awaitable<> accept_all(tcp::acceptor acceptor)
{
    for (;;) {
        auto [error, socket] = co_await acceptor.async_accept(as_tuple);
        if (!error) boost::asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), boost::asio::detached);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    auto port = static_cast<unsigned short>(argc > 1 ? std::atoi(argv[1]) : 8099);
    boost::asio::io_context io(1);
    tcp::acceptor acceptor(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), port));
    boost::asio::co_spawn(io, accept_all(std::move(acceptor)), boost::asio::detached);
    io.run();
}
