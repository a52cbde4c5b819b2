#include "remote/server_client.hpp"

#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "prebuilt/version.hpp"
#include "streams/http_wire.hpp"
#include "text/encodings.hpp"
#include "text/sse_parser.hpp"
#include "upstream/tool_list.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/http/serializer.hpp>

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <utility>

#include <sys/un.h>

namespace cmcp::command {

namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds time_to_connect(10);
constexpr std::size_t piece = 256 * 1024;

std::string sentence_in(unsigned status, const json::object& body)
{
    auto sentence = text_of(body, "error");
    return sentence.empty() ? "the server answers with HTTP status " + std::to_string(status) : sentence;
}

std::string fresh_key()
{
    std::array<unsigned char, 16> bytes{};
    if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) throw std::runtime_error("no random bytes");
    return base64_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string chunk_of(const std::string& bytes)
{
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%zx", bytes.size());
    return std::string(digits.data()) + "\r\n" + bytes + "\r\n";
}

}  // namespace

server_client::server_client(asio::any_io_executor executor, server_place place)
    : executor_(std::move(executor)), place_(std::move(place))
{
}

void server_client::gone(const boost::system::error_code& failure) const
{
    throw std::runtime_error(place_.name + " ended before its answer was whole (" + failure.message() + ")");
}

awaitable<server_client::connection_ptr> server_client::connect()
{
    if (!place_.socket.empty()) {
        if (place_.socket.size() >= sizeof(sockaddr_un::sun_path))
            throw std::runtime_error(place_.why_unreachable(ENAMETOOLONG));
        stream_socket socket(executor_);
        const asio::local::stream_protocol::endpoint to(place_.socket);
        const auto failure = co_await connect_within(socket, to, time_to_connect);
        if (failure) throw std::runtime_error(place_.why_unreachable(failure.value()));
        co_return std::make_unique<http_connection>(std::move(socket));
    }
    const auto& who = place_.url->who;
    const std::string host = who.address ? who.address->to_string() : who.name;
    connection_ptr fresh;
    try {
        auto socket = co_await reach(host, place_.url->port, time_to_connect);
        fresh = std::make_unique<http_connection>(std::move(socket));
    } catch (const unreachable_server& problem) {
        throw std::runtime_error(place_.name + " is not reached: " + problem.what());
    }
    if (!place_.url->secure) co_return fresh;
    trust_ = co_await find_client_context(place_.extra_ca, "WEB_CA_FILE");
    const auto failure = co_await secure(fresh->stream(), *trust_, host, who.address.has_value());
    if (failure)
        throw std::runtime_error(place_.name + " is not used: " + handshake_problem(fresh->stream().tls(), failure));
    co_return fresh;
}

awaitable<server_client::connection_ptr> server_client::open()
{
    auto waiting = std::move(waiting_);
    if (waiting && waiting->may_go_on()) co_return waiting;
    auto fresh = co_await connect();
    co_return fresh;
}

void server_client::keep(connection_ptr used, const http_connection::parser& answer)
{
    if (answer.is_done() && answer.get().keep_alive()) waiting_ = std::move(used);
}

server_client::request server_client::make_request(std::string_view method, const std::string& target) const
{
    request message(http::string_to_verb(method), (place_.url ? place_.url->target : std::string()) + target, 11);
    message.set(http::field::host, place_.url ? place_.url->authority() : "localhost");
    message.set(http::field::user_agent, "container-mcp/" CMCP_VERSION);
    if (!place_.token.empty()) message.set(http::field::authorization, "Bearer " + place_.token);
    if (!place_.principal.empty()) message.set("Container-MCP-Principal", place_.principal);
    return message;
}

awaitable<> server_client::read_header(http_connection& from, http_connection::parser& into) const
{
    into.body_limit(boost::none);
    const auto failure = co_await from.read_header(into);
    if (failure) gone(failure);
}

// Empty: the end.
awaitable<std::string> server_client::read_piece(http_connection& from, http_connection::parser& into) const
{
    std::string bytes(piece, '\0');
    while (!into.is_done()) {
        const auto got = co_await from.read_body(into, asio::buffer(bytes));
        if (got.failure) gone(got.failure);
        if (got.size == 0) continue;
        bytes.resize(got.size);
        co_return bytes;
    }
    co_return std::string();
}

awaitable<std::string> server_client::read_rest(http_connection& from, http_connection::parser& into) const
{
    std::string all;
    for (;;) {
        const std::string bytes = co_await read_piece(from, into);
        if (bytes.empty()) break;
        all += bytes;
    }
    co_return all;
}

awaitable<> server_client::refuse_bad(http_connection& from, http_connection::parser& answer) const
{
    const auto status = answer.get().result_int();
    if (status < 300) co_return;
    const auto body = co_await read_rest(from, answer);
    throw server_refusal(status, sentence_in(status, jsonrpc::read_object(body)));
}

awaitable<server_client::whole_answer> server_client::exchange(request message, std::chrono::seconds patience)
{
    message.prepare_payload();
    auto over = co_await open();
    if (patience.count() != 0) over->stream().expires_after(patience);
    const auto failure = co_await over->write(message);
    if (failure) gone(failure);
    http_connection::parser parser;
    co_await read_header(*over, parser);
    whole_answer heard;
    heard.body = co_await read_rest(*over, parser);
    over->stream().expires_never();
    heard.status = parser.get().result_int();
    heard.type = parser.get()[http::field::content_type];
    keep(std::move(over), parser);
    co_return heard;
}

awaitable<server_client::answer> server_client::ask(std::string method, std::string target, std::string body,
                                                    std::chrono::seconds patience)
{
    auto message = make_request(method, target);
    if (!body.empty()) message.set(http::field::content_type, "application/json");
    message.body() = std::move(body);
    const auto heard = co_await exchange(std::move(message), patience);
    co_return answer{heard.status, jsonrpc::read_object(heard.body)};
}

awaitable<json::object> server_client::ask_or_throw(std::string method, std::string target, std::string body)
{
    auto heard = co_await ask(std::move(method), std::move(target), std::move(body));
    if (heard.status >= 300) throw server_refusal(heard.status, sentence_in(heard.status, heard.body));
    co_return std::move(heard.body);
}

awaitable<json::object> server_client::tool(std::string name, json::object arguments)
{
    auto body = jsonrpc::write_json(arguments);
    auto result = co_await ask_or_throw("POST", "/mcp/tools/" + name, std::move(body));
    co_return result;
}

awaitable<json::object> server_client::rpc(std::string method, std::string name, json::object params,
                                           header_fields repeated)
{
    constexpr const char* revision = "2026-07-28";
    params["_meta"] = json::object{
        {"io.modelcontextprotocol/protocolVersion", revision},
        {"io.modelcontextprotocol/clientInfo", {{"name", "container-mcp call"}, {"version", CMCP_VERSION}}},
        {"io.modelcontextprotocol/clientCapabilities", json::object()}};
    auto message = make_request("POST", "/mcp");
    message.set(http::field::content_type, "application/json");
    message.set(http::field::accept, "application/json, text/event-stream");
    message.set("MCP-Protocol-Version", revision);
    message.set("Mcp-Method", method);
    if (!name.empty()) message.set("Mcp-Name", name);
    for (const auto& [field, value] : repeated) message.set(field, value);
    message.body() =
        jsonrpc::write_json(json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}});
    const auto heard = co_await exchange(std::move(message));
    std::string last = heard.body;
    sse_parser events([&last](std::string_view, std::string_view data) { last = data; });
    if (heard.type.starts_with("text/event-stream")) events.feed(heard.body);
    auto body = jsonrpc::read_object(last);
    if (!body.contains("result") && !body.contains("error"))
        throw server_refusal(heard.status, sentence_in(heard.status, body));
    co_return body;
}

// Empty: the server lists no such tool.
awaitable<json::object> server_client::input_schema_of(std::string tool)
{
    std::string cursor;
    do {
        json::object params;
        if (!cursor.empty()) params["cursor"] = cursor;
        auto asking = rpc("tools/list", std::string(), std::move(params), header_fields());
        const auto heard = co_await std::move(asking);
        const auto& page = object_of(heard, "result");
        const auto* tools = page.if_contains("tools");
        if (tools == nullptr || !tools->is_array()) break;
        for (const auto& each : tools->get_array())
            if (each.is_object() && view_of(each.get_object(), "name") == tool)
                co_return object_of(each.get_object(), "inputSchema");
        cursor = text_of(page, "nextCursor");
    } while (!cursor.empty());
    co_return json::object();
}

awaitable<json::object> server_client::call(std::string tool, json::object arguments)
{
    const auto schema = co_await input_schema_of(tool);
    auto repeated = repeated_arguments(schema, arguments);
    json::object params{{"name", tool}, {"arguments", std::move(arguments)}};
    auto asking = rpc("tools/call", std::move(tool), std::move(params), std::move(repeated));
    auto heard = co_await std::move(asking);
    co_return heard;
}

awaitable<> server_client::events(std::string target, event_handler handle)
{
    auto message = make_request("GET", target);
    message.set(http::field::accept, "text/event-stream");
    auto over = co_await open();
    const auto failure = co_await over->write(message);
    if (failure) gone(failure);
    http_connection::parser parser;
    co_await read_header(*over, parser);
    co_await refuse_bad(*over, parser);
    std::deque<std::pair<std::string, std::string>> heard;
    sse_parser events([&heard](std::string_view name, std::string_view data) { heard.emplace_back(name, data); });
    for (;;) {
        const std::string bytes = co_await read_piece(*over, parser);
        if (bytes.empty()) break;
        events.feed(bytes);
        for (; !heard.empty(); heard.pop_front())
            co_await handle(std::move(heard.front().first), std::move(heard.front().second));
    }
}

awaitable<> server_client::download(std::string target, piece_handler handle)
{
    const auto message = make_request("GET", target);
    auto over = co_await open();
    const auto failure = co_await over->write(message);
    if (failure) gone(failure);
    http_connection::parser parser;
    co_await read_header(*over, parser);
    co_await refuse_bad(*over, parser);
    std::optional<std::uint64_t> whole;
    if (const auto length = parser.content_length()) whole = *length;
    for (;;) {
        std::string bytes = co_await read_piece(*over, parser);
        if (bytes.empty()) break;
        co_await handle(std::move(bytes), whole);
    }
    keep(std::move(over), parser);
}

// A server that refuses answers before it has read all, and then reads no more.
awaitable<json::object> server_client::upload(std::string target, piece_source next, std::optional<std::uint64_t> size)
{
    auto message = make_request("POST", target);
    message.set(http::field::content_type, "application/octet-stream");
    if (size)
        message.content_length(*size);
    else
        message.chunked(true);
    auto over = co_await open();
    http::request_serializer<http::string_body> head(message);
    auto sent = co_await write_message(over->stream(), head, true);
    for (bool goes_on = !sent.failure; goes_on;) {
        const std::string bytes = co_await next();
        goes_on = !bytes.empty();
        const std::string out = size ? bytes : chunk_of(bytes);
        if (!out.empty()) sent = co_await over->stream().write(out);
        goes_on = goes_on && !sent.failure;
    }
    http_connection::parser parser;
    co_await read_header(*over, parser);
    co_await refuse_bad(*over, parser);
    const auto text = co_await read_rest(*over, parser);
    keep(std::move(over), parser);
    co_return jsonrpc::read_object(text);
}

awaitable<std::unique_ptr<websocket_client>> server_client::open_socket(std::string target)
{
    const auto key = fresh_key();
    auto message = make_request("GET", target);
    message.set(http::field::connection, "Upgrade");
    message.set(http::field::upgrade, "websocket");
    message.set(http::field::sec_websocket_version, "13");
    message.set(http::field::sec_websocket_key, key);
    auto over = co_await open();
    const auto failure = co_await over->write(message);
    if (failure) gone(failure);
    http_connection::parser parser;
    co_await read_header(*over, parser);
    const auto status = parser.get().result();
    if (status != http::status::switching_protocols) {
        co_await refuse_bad(*over, parser);
        throw std::runtime_error(place_.name + " opens no WebSocket there");
    }
    if (parser.get()[http::field::sec_websocket_accept] != websocket_frames::accept_for(key))
        throw std::runtime_error(place_.name + " does not speak the WebSocket protocol");
    co_return std::make_unique<websocket_client>(std::move(over));
}

}  // namespace cmcp::command
