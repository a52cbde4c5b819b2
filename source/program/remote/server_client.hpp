#pragma once

#include "jsonrpc/json.hpp"
#include "remote/server_place.hpp"
#include "remote/websocket_client.hpp"
#include "streams/http_connection.hpp"

#include <boost/asio/ssl/context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::command {

/// The server's own sentence about a request that it does not serve.
struct server_refusal : std::runtime_error {
    server_refusal(unsigned of, const std::string& sentence) : std::runtime_error(sentence), status(of) {}
    unsigned status;
};

/// Asks one server over HTTP. All members throw std::runtime_error with a sentence where it is not reached or goes
/// away. Io thread only, one request at a time.
class server_client {
public:
    server_client(asio::any_io_executor executor, server_place place);

    struct answer {
        unsigned status = 0;
        json::object body{};  ///< empty: it is no object of JSON
    };

    /// `body`: JSON; empty: none. `patience`: the longest silence; none: any.
    awaitable<answer> ask(std::string method, std::string target, std::string body = {},
                          std::chrono::seconds patience = std::chrono::seconds(0));

    /// The same, but throws server_refusal for a status of 300 and above.
    awaitable<json::object> ask_or_throw(std::string method, std::string target, std::string body = {});

    /// The result of a tool as an object (REST). Throws server_refusal where the tool could not do it.
    awaitable<json::object> tool(std::string name, json::object arguments);

    /// The answer of MCP's latest revision: JSON-RPC with a result as a model reads it, or an error.
    awaitable<json::object> call(std::string tool, json::object arguments);

    using event_handler = std::function<awaitable<>(std::string name, std::string data)>;
    awaitable<> events(std::string target, event_handler handle);  ///< until the server ends them

    /// `whole`: bytes of the body, where the server tells them.
    using piece_handler = std::function<awaitable<>(std::string piece, std::optional<std::uint64_t> whole)>;
    awaitable<> download(std::string target, piece_handler handle);

    /// An empty piece is the end. `size`: of all, where it is known.
    using piece_source = std::function<awaitable<std::string>()>;
    awaitable<json::object> upload(std::string target, piece_source next, std::optional<std::uint64_t> size);

    awaitable<std::unique_ptr<websocket_client>> open_socket(std::string target);

    const server_place& place() const { return place_; }
    void act_for(std::string principal) { place_.principal = std::move(principal); }  ///< at the socket

private:
    using request = http_connection::request;
    using connection_ptr = std::unique_ptr<http_connection>;

    awaitable<connection_ptr> connect();
    awaitable<connection_ptr> open();  ///< the one that is open, or a new one
    struct whole_answer {
        unsigned status = 0;
        std::string type{};
        std::string body{};
    };
    using header_fields = std::vector<std::pair<std::string, std::string>>;
    awaitable<json::object> rpc(std::string method, std::string name, json::object params, header_fields repeated);
    awaitable<json::object> input_schema_of(std::string tool);
    awaitable<whole_answer> exchange(request message, std::chrono::seconds patience = std::chrono::seconds(0));
    request make_request(std::string_view method, const std::string& target) const;
    awaitable<> read_header(http_connection& from, http_connection::parser& into) const;
    awaitable<std::string> read_rest(http_connection& from, http_connection::parser& into) const;
    awaitable<std::string> read_piece(http_connection& from, http_connection::parser& into) const;
    awaitable<> refuse_bad(http_connection& from, http_connection::parser& answer) const;
    void keep(connection_ptr used, const http_connection::parser& answer);
    [[noreturn]] void gone(const boost::system::error_code& failure) const;

    asio::any_io_executor executor_;
    server_place place_;
    std::shared_ptr<boost::asio::ssl::context> trust_;
    connection_ptr waiting_;
};

}  // namespace cmcp::command
