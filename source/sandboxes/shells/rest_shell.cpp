#include "shells/rest_shell.hpp"

#include "async/event.hpp"
#include "http/http_refusal.hpp"
#include "http/request_guard.hpp"
#include "http/router.hpp"
#include "http/websocket.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "sandboxes/http_refusals.hpp"
#include "shells/shell_manager.hpp"
#include "text/number.hpp"

#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_of_output = 16 * 1024;
constexpr std::size_t longest_order = 1024;
constexpr std::uint16_t most_characters = 1000;
constexpr std::uint16_t normal_end = 1000, not_understood = 1008;
constexpr std::string_view page_protocol = "cmcp.shell";
constexpr std::chrono::seconds between_judgements(2);

/// A shell for one connection. Its end hangs the shell up.
class attached_shell {
public:
    attached_shell(shell_manager& shells, std::shared_ptr<shell_manager::shell> attached)
        : shells_(shells), shell_(std::move(attached))
    {
    }
    attached_shell(const attached_shell&) = delete;
    attached_shell& operator=(const attached_shell&) = delete;
    ~attached_shell() { hang_up(); }

    shell_process& process() { return shell_manager::process_of(*shell_); }
    shell_process& used()
    {
        shell_manager::touch(*shell_);
        return process();
    }
    bool signal(std::string_view name)
    {
        const int number = name == "INT" ? SIGINT : name == "QUIT" ? SIGQUIT : name == "TSTP" ? SIGTSTP : 0;
        return number != 0 && (process().signal(number) || !process().alive());
    }
    void hang_up()
    {
        if (!std::exchange(hung_up_, true)) shells_.release(shell_);
    }
    json::object end()  // empty: it lives
    {
        const auto& ended = process().end();
        if (!ended) return {};
        return {{"exit_code", ended->exit_code}, {"cause", sandbox::to_string(ended->why)}};
    }

private:
    shell_manager& shells_;
    std::shared_ptr<shell_manager::shell> shell_;
    bool hung_up_ = false;
};

struct connected {
    std::unique_ptr<websocket> socket;
    std::unique_ptr<attached_shell> shell;
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

using program_message = program_streams::message;

// Kubernetes' numbers of streams.
std::string with_stream(const program_message& message)
{
    const char stream = message.is == program_message::kind::output ? '\1' : '\2';
    return stream + message.bytes;
}

awaitable<> send_streams(std::shared_ptr<connected> both)
{
    auto& streams = *both->shell->process().streams();
    for (bool goes_on = true; goes_on;) {
        const auto message = co_await streams.next();
        if (message.is == program_message::kind::end) break;
        const bool as_text = message.is == program_message::kind::taken;
        const std::string bytes =
            as_text ? jsonrpc::write_json(json::object{{"taken", message.taken}}) : with_stream(message);
        goes_on = co_await both->socket->write(bytes, as_text);
    }
}

awaitable<> send_terminal(std::shared_ptr<connected> both)
{
    for (bool goes_on = true; goes_on;) {
        const std::string bytes = co_await both->shell->used().read(most_of_output);
        if (bytes.empty()) break;
        goes_on = co_await both->socket->write(bytes);
    }
}

// The socket is written as fast as its peer reads, and the program is read no faster.
awaitable<> send_output(std::shared_ptr<connected> both)
{
    auto sending = both->shell->process().streams() != nullptr ? send_streams(both) : send_terminal(both);
    co_await std::move(sending);
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

bool obey_order(attached_shell& shell, const json::object& order)
{
    if (const auto* size = order.if_contains("resize"); size != nullptr && size->is_object()) {
        const auto columns = characters(size->as_object(), "cols"), rows = characters(size->as_object(), "rows");
        if (!columns || !rows) return false;
        shell.process().resize({*columns, *rows});
        return true;
    }
    if (auto* streams = shell.process().streams(); streams != nullptr && flag_of(order, "end_of_input")) {
        streams->end_input();
        return true;
    }
    const auto* signal = order.if_contains("signal");
    return signal != nullptr && signal->is_string() && shell.signal(std::string_view(signal->as_string()));
}

// False: it is more than the program may be sent ahead.
awaitable<bool> take_bytes(std::shared_ptr<connected> both, std::string bytes)
{
    if (auto* streams = both->shell->process().streams()) co_return streams->feed(std::move(bytes));
    co_await both->shell->used().type(std::move(bytes));
    co_return true;
}

// The end of the socket is the end of the shell, and the other way round.
awaitable<> take_input(std::shared_ptr<connected> both)
{
    for (;;) {
        auto heard = co_await both->socket->read();
        if (!heard) break;
        if (!heard->is_text) {
            const bool fits = co_await take_bytes(both, std::move(heard->bytes));
            if (fits) continue;
            co_await both->socket->close(not_understood, "send no more than 256 KiB before {\"taken\"} tells of them");
            break;
        }
        if (heard->bytes.size() <= longest_order && obey_order(*both->shell, jsonrpc::read_object(heard->bytes)))
            continue;
        co_await both->socket->close(not_understood,
                                     R"(send {"resize":{"cols":80,"rows":24}}, {"signal":"INT"}, QUIT or TSTP, )"
                                     R"(or without a terminal {"end_of_input":true})");
        break;
    }
    both->end();
}

// A key may be revoked, and the time of a token be over, while its shell is open.
awaitable<> watch_login(std::shared_ptr<connected> both, http_request& request, const request_guard& logins)
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

awaitable<> move_bytes(std::shared_ptr<connected> both, http_request& request, const request_guard& logins)
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
        throw http_refusal(400,
                           std::string(name) + " must be a number from 1 to " + std::to_string(most_characters) + ".");
    return *number;
}

// A list of words, each a text without NUL; none: the shell.
std::vector<std::string> words_of(const http_request& request)
{
    const auto text = request.filled_parameter("command");
    if (!text) return {};
    std::vector<std::string> words;
    const auto list = jsonrpc::read_value(*text);
    bool fits = list && list->is_array() && !list->get_array().empty();
    for (const auto& each : fits ? list->get_array() : json::array()) {
        fits = fits && each.is_string() && each.get_string().find('\0') == json::string::npos;
        if (fits) words.emplace_back(each.get_string());
    }
    if (!fits || words.front().empty())
        throw http_refusal(400, R"(command must be a list of words in JSON, as ["ls","-l"].)");
    return words;
}

shell_program program_of(const http_request& request)
{
    shell_program program;
    program.argv = words_of(request);
    program.size = {size_of(request, "cols", 80), size_of(request, "rows", 24)};
    const auto terminal = request.filled_parameter("terminal").value_or("true");
    if (terminal != "true" && terminal != "false") throw http_refusal(400, "terminal must be true or false.");
    program.terminal = terminal == "true";
    if (!program.terminal && program.argv.empty())
        throw http_refusal(400, "Without a terminal, command must name a program and its arguments.");
    return program;
}

caller caller_by(const login& credentials)
{
    caller who;
    who.principal = credentials.principal;
    who.scopes = credentials.scopes;
    who.profile = credentials.profile;
    return who;
}

awaitable<std::unique_ptr<attached_shell>> open(const http_request& request, shell_sources from)
{
    auto named = request.filled_parameter("sandbox_id");
    if (!named) named = request.parameter("sandbox_name");
    auto program = program_of(request);
    auto who = caller_by(*request.who);
    auto wanted = named.value_or("");
    auto where = co_await from.sandboxes.use(who, std::move(wanted));
    auto attached = co_await from.shells.attach(std::move(who), std::move(where), std::move(program));
    co_return std::make_unique<attached_shell>(from.shells, std::move(attached));
}

awaitable<> serve_shell(exchange& x, shell_sources from)
{
    auto refusal = websocket::refuse(x.request());
    const auto both = std::make_shared<connected>();
    if (!refusal) {
        try {
            both->shell = co_await open(x.request(), from);
        } catch (const std::runtime_error&) {
            refusal = reply_to_refusal(std::current_exception());
        }
    }
    if (refusal) {
        co_await websocket::turn_away(x, from.sockets, std::move(*refusal), page_protocol);
        co_return;
    }
    const bool is_page = websocket::offers(x.request(), page_protocol);
    const websocket::terms terms{.protocol = is_page ? page_protocol : std::string_view()};
    both->socket = co_await websocket::accept(x, from.sockets, terms);
    if (both->socket) co_await move_bytes(both, x.request(), from.logins);
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
    shell.summary = "Open a shell with a terminal, or run another program, in a sandbox, as a WebSocket";
    shell.description =
        "Binary messages are what is typed and what the terminal shows. Text messages to the server are "
        "{\"resize\": {\"cols\", \"rows\"}} and {\"signal\": \"INT\"} (QUIT, TSTP). The end's reason is "
        "{\"exit_code\", "
        "\"cause\"}. The shell ends with the connection. With terminal=false, messages of the program begin with a "
        "byte 1 "
        "(standard output) or 2 (standard error); {\"end_of_input\": true} ends its standard input, and {\"taken\"} "
        "says how "
        "many bytes of that it has taken: no more than 256 KiB may be on their way.";
    shell.tag = "sandboxes";
    shell.parameters.push_back(
        shell_parameter("sandbox_id", "Handle of the sandbox (or sandbox_name); left out: the default one", "string"));
    shell.parameters.push_back(shell_parameter("sandbox_name", "Name of the sandbox (or sandbox_id)", "string"));
    shell.parameters.push_back(
        shell_parameter("command", "A program and its arguments, a list in JSON; left out: bash", "string"));
    shell.parameters.push_back(
        shell_parameter("terminal", "false: the program has standard streams of its own", "boolean"));
    shell.parameters.push_back(shell_parameter("cols", "Columns of the terminal; 80 when left out", "integer"));
    shell.parameters.push_back(shell_parameter("rows", "Rows of the terminal; 24 when left out", "integer"));
    shell.gives["application/octet-stream"] = json::object{{"type", "string"}, {"format", "binary"}};
    shell.gives_what = "The connection becomes a WebSocket (101)";
    return {shell};
}

}  // namespace

void add_shell_route(router& routes, const shell_sources& from)
{
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
