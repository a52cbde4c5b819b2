#include "async/event.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "rest/rest_routes.hpp"
#include "text/number.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_at_once = 16 * 1024;
constexpr std::size_t longest_order = 1024;
constexpr std::uint16_t most_characters = 1000;
constexpr std::uint16_t normal_end = 1000, not_understood = 1008, refused_end = 1011;
constexpr std::string_view page_protocol = "cmcp.shell";
constexpr std::chrono::seconds between_judgements(2);

struct connected {
    std::unique_ptr<websocket> socket;
    std::unique_ptr<gateway_shell> shell;
    event over;
    bool is_over = false;
    bool login_ended = false;

    void end()
    {
        is_over = true;
        over.notify();
        shell->hang_up();
    }
};

// The socket is written as fast as its peer reads, and the terminal is read no faster.
awaitable<> send_output(std::shared_ptr<connected> both)
{
    for (bool goes_on = true; goes_on;) {
        const std::string bytes = co_await both->shell->read(most_at_once);
        if (bytes.empty()) break;
        goes_on = co_await both->socket->write(bytes);
    }
    const auto end = both->shell->end();
    const std::string reason = both->login_ended ? "The login has ended." : jsonrpc::write_json(end);
    const auto code = both->login_ended ? not_understood : normal_end;
    co_await both->socket->close(code, reason);
}

std::optional<std::uint16_t> characters(const json::object& of, std::string_view name)
{
    const auto* value = of.if_contains(name);
    if (value == nullptr || !value->is_int64()) return std::nullopt;
    const auto number = value->as_int64();
    if (number < 1 || number > most_characters) return std::nullopt;
    return static_cast<std::uint16_t>(number);
}

bool obey(gateway_shell& shell, const json::object& order)
{
    if (const auto* size = order.if_contains("resize"); size != nullptr && size->is_object()) {
        const auto columns = characters(size->as_object(), "cols"), rows = characters(size->as_object(), "rows");
        if (!columns || !rows) return false;
        shell.resize(*columns, *rows);
        return true;
    }
    const auto* signal = order.if_contains("signal");
    return signal != nullptr && signal->is_string() && shell.signal(std::string_view(signal->as_string()));
}

// The end of the socket is the end of the shell, and the other way round.
awaitable<> take_input(std::shared_ptr<connected> both)
{
    for (;;) {
        auto heard = co_await both->socket->read();
        if (!heard) break;
        if (!heard->is_text) {
            co_await both->shell->type(std::move(heard->bytes));
            continue;
        }
        if (heard->bytes.size() <= longest_order && obey(*both->shell, jsonrpc::read_object(heard->bytes))) continue;
        co_await both->socket->close(not_understood,
                                     R"(send {"resize":{"cols":80,"rows":24}} or {"signal":"INT"}, QUIT or TSTP)");
        break;
    }
    both->end();
}

// A key may be revoked, and the time of a token be over, while its shell is open.
awaitable<> watch_login(std::shared_ptr<connected> both, http_request& request, const authenticator& logins)
{
    while (!both->is_over) {
        co_await both->over.wait(event::clock::now() + between_judgements);
        if (both->is_over) break;
        const bool admitted = co_await logins.still_admits(request);
        if (admitted) continue;
        both->login_ended = true;
        both->end();
    }
}

awaitable<> move_bytes(std::shared_ptr<connected> both, http_request& request, const authenticator& logins)
{
    const auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, send_output(both), asio::deferred),
        asio::co_spawn(executor, take_input(both), asio::deferred),
        asio::co_spawn(executor, watch_login(both, request, logins), asio::deferred));
    auto [order, out, in, login] = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (const auto& failure : {out, in, login})
        if (failure) std::rethrow_exception(failure);
}

std::uint16_t size_of(const http_request& request, std::string_view name, std::uint16_t otherwise)
{
    const auto text = request.filled_parameter(name);
    if (!text) return otherwise;
    const auto number = read_number<std::uint16_t>(*text);
    if (!number || *number < 1 || *number > most_characters)
        throw gateway_error(400,
                            std::string(name) + " must be a number from 1 to " + std::to_string(most_characters) + ".");
    return *number;
}

awaitable<std::unique_ptr<gateway_shell>> open(const http_request& request, shell_gateway& shells)
{
    auto sandbox = request.filled_parameter("sandbox_id");
    if (!sandbox) sandbox = request.parameter("sandbox_name");
    const auto columns = size_of(request, "cols", 80), rows = size_of(request, "rows", 24);
    auto shell = co_await shells.open(request.who, sandbox.value_or(""), columns, rows);
    co_return shell;
}

awaitable<> tell_page(exchange& x, websocket_register& sockets, std::string sentence)
{
    const websocket::terms terms{.protocol = page_protocol};
    const auto socket = co_await websocket::accept(x, sockets, terms);
    if (!socket) co_return;
    const std::string message = jsonrpc::write_json(json::object{{"error", sentence}});
    const bool heard = co_await socket->write(message, true);
    constexpr std::string_view no_reason;
    if (heard) co_await socket->close(refused_end, no_reason);
}

struct shell_sources {
    shell_gateway& shells;
    const authenticator& logins;
    websocket_register& sockets;
};

awaitable<> serve_shell(exchange& x, shell_sources from)
{
    auto refusal = websocket::refuse(x.request());
    const bool is_handshake = !refusal;
    const bool is_page = websocket::offers(x.request(), page_protocol);
    const auto both = std::make_shared<connected>();
    if (!refusal) {
        try {
            both->shell = co_await open(x.request(), from.shells);
        } catch (const gateway_error& refused) {
            refusal = error_reply(refused.status, refused.what(),
                                  refused.type.empty() && refused.status == 400 ? "InvalidArgument" : refused.type);
            if (refused.status == 503) refusal->with("Retry-After", "5");
        }
    }
    if (refusal && is_handshake && is_page) {
        co_await tell_page(x, from.sockets, std::move(refusal->problem));
    } else if (refusal) {
        co_await x.reply(std::move(*refusal));
    } else {
        const websocket::terms terms{.protocol = is_page ? page_protocol : std::string_view()};
        both->socket = co_await websocket::accept(x, from.sockets, terms);
        if (both->socket) co_await move_bytes(both, x.request(), from.logins);
    }
}

json::object shell_parameter(std::string_view name, std::string_view description, std::string_view type)
{
    return {{"name", name},
            {"in", "query"},
            {"required", false},
            {"description", description},
            {"schema", {{"type", type}}}};
}

std::vector<route_operation> describe_shell(const http_request&)
{
    route_operation shell;
    shell.path = "/sandbox/shell";
    shell.id = "open_shell";
    shell.summary = "Open a shell with a terminal in a sandbox, as a WebSocket";
    shell.description =
        "Binary messages are what is typed and what the terminal shows. Text messages to the server are "
        "{\"resize\": {\"cols\", \"rows\"}} and {\"signal\": \"INT\"} (QUIT, TSTP). The end's reason is "
        "{\"exit_code\", "
        "\"cause\"}. The shell ends with the connection.";
    shell.tag = "sandboxes";
    shell.parameters.push_back(
        shell_parameter("sandbox_id", "Handle of the sandbox (or sandbox_name); left out: the default one", "string"));
    shell.parameters.push_back(shell_parameter("sandbox_name", "Name of the sandbox (or sandbox_id)", "string"));
    shell.parameters.push_back(shell_parameter("cols", "Columns of the terminal; 80 when left out", "integer"));
    shell.parameters.push_back(shell_parameter("rows", "Rows of the terminal; 24 when left out", "integer"));
    shell.gives["application/octet-stream"] = json::object{{"type", "string"}, {"format", "binary"}};
    shell.gives_what = "The connection becomes a WebSocket (101)";
    return {shell};
}

}  // namespace

void add_shell_route(router& routes, shell_gateway& shells, const authenticator& logins, websocket_register& sockets)
{
    const shell_sources from{shells, logins, sockets};
    routes.add({.methods = {"GET"},
                .path = "/sandbox/shell",
                .serve = [from](exchange& x) { return serve_shell(x, from); },
                .needs = scope::run,
                .audit = route_audit::calls,
                .counts = route_counts::all,
                .handle = [](const http_request& by) { return by.parameter("sandbox_id").value_or(""); },
                .by_browser = true,
                .operations = describe_shell});
}

}  // namespace cmcp
