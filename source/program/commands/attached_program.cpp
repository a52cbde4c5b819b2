#include "commands/attached_program.hpp"

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "commands/remote_choice.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "transport/descriptor_stream.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

using frame_kind = websocket_frames::kind;

constexpr std::size_t most_at_once = 32 * 1024;
constexpr std::size_t window = 256 * 1024;  // of input, as the server has it
constexpr char output_stream = 1, error_stream = 2;
constexpr std::chrono::seconds patience_with_end(2);  // with the end of a program after a signal
constexpr int exit_of_failure = 1;
constexpr std::string_view end_of_input = R"({"end_of_input":true})";

/// The terminal hands over each byte as it is typed, until this goes.
class raw_terminal {
public:
    raw_terminal()
    {
        if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios raw = before_;
        ::cfmakeraw(&raw);
        is_raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
    }
    raw_terminal(const raw_terminal&) = delete;
    raw_terminal& operator=(const raw_terminal&) = delete;
    ~raw_terminal()
    {
        if (is_raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }

private:
    termios before_{};
    bool is_raw_ = false;
};

winsize size_of_terminal()
{
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {24, 80, 0, 0};
    return size;
}

std::string path_of_shell(const attached_program& what)
{
    std::string target = "/sandbox/shell?" + what.sandbox;
    const auto add = [&target](const std::string& part) { target += (target.back() == '?' ? "" : "&") + part; };
    if (!what.argv.empty())
        add("command=" + in_query(jsonrpc::write_json(json::array(what.argv.begin(), what.argv.end()))));
    if (!what.terminal) {
        add("terminal=false");
        return target;
    }
    const auto size = size_of_terminal();
    add("cols=" + std::to_string(size.ws_col));
    add("rows=" + std::to_string(size.ws_row));
    return target;
}

/// A connection to the program, and what is known of it.
struct attachment {
    std::unique_ptr<websocket_client> socket;
    std::size_t under_way = 0;  // bytes of input
    event taken;
    int signal = 0;  // that ended it
};
using shared_attachment = std::shared_ptr<attachment>;

awaitable<> send_piece(shared_attachment to, std::string bytes)
{
    while (to->under_way + bytes.size() > window) co_await to->taken.wait();
    to->under_way += bytes.size();
    to->socket->send(bytes);
}

awaitable<> send_text(shared_attachment to, std::string bytes)
{
    for (std::size_t at = 0; at < bytes.size(); at += most_at_once) {
        auto part = bytes.substr(at, most_at_once);
        co_await send_piece(to, std::move(part));
    }
    to->socket->order(end_of_input);
}

awaitable<> send_streamed(shared_attachment to, std::shared_ptr<descriptor_stream> input)
{
    for (;;) {
        const std::string bytes = co_await input->read_some();
        if (bytes.empty()) break;
        for (std::size_t at = 0; at < bytes.size(); at += most_at_once) {
            auto part = bytes.substr(at, most_at_once);
            co_await send_piece(to, std::move(part));
        }
    }
    to->socket->order(end_of_input);
}

awaitable<> send_typed(shared_attachment to, std::shared_ptr<descriptor_stream> input)
{
    for (;;) {
        const std::string bytes = co_await input->read_some();
        if (bytes.empty()) break;
        for (std::size_t at = 0; at < bytes.size(); at += most_at_once)
            to->socket->send(std::string_view(bytes).substr(at, most_at_once));
    }
}

awaitable<> tell_size(shared_attachment to)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set changes(executor, SIGWINCH);
    for (;;) {
        auto [failure, number] = co_await changes.async_wait(as_tuple);
        if (failure) break;
        const auto size = size_of_terminal();
        to->socket->order(
            jsonrpc::write_json(json::object{{"resize", {{"cols", size.ws_col}, {"rows", size.ws_row}}}}));
    }
}

awaitable<> end_by_signal(shared_attachment of)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set ends(executor, SIGINT, SIGTERM);
    ends.add(SIGHUP);
    ends.add(SIGQUIT);
    auto [failure, number] = co_await ends.async_wait(as_tuple);
    if (failure) co_return;
    of->signal = number;
    of->socket->close();
    asio::steady_timer patience(executor, patience_with_end);
    co_await patience.async_wait(as_tuple);
    of->socket->abort();
}

int code_of_end(const websocket_client::message& close)
{
    const auto reason = jsonrpc::read_object(close.bytes);
    if (!reason.contains("exit_code"))
        throw std::runtime_error(close.bytes.empty() ? "the server has ended the program" : close.bytes);
    const auto cause = text_of(reason, "cause");
    if (cause != "exited" && cause != "signaled" && cause != "setup_failed")
        std::cerr << "container-mcp: the program was ended: " << cause << '\n';
    return static_cast<int>(number_of(reason, "exit_code", exit_of_failure));
}

/// Bytes for standard output and standard error.
class output_streams {
public:
    explicit output_streams(const asio::any_io_executor& executor)
        : out_(executor, STDOUT_FILENO), err_(executor, STDERR_FILENO)
    {
    }

    awaitable<> write(bool to_errors, std::string bytes)
    {
        auto& stream = to_errors ? err_ : out_;
        const bool written = co_await stream.write(std::move(bytes));
        if (!written) throw closed_output();
    }

private:
    descriptor_stream out_, err_;
};

// The next message of the program's output; nothing: the close, whose code is in `code`.
struct heard_output {
    bool to_errors = false;
    std::string bytes{};
};

awaitable<std::optional<heard_output>> next_output(shared_attachment from, bool terminal, int& code)
{
    for (;;) {
        auto message = co_await from->socket->read();
        if (message.is == frame_kind::close) {
            code = code_of_end(message);
            co_return std::nullopt;
        }
        if (message.is == frame_kind::text) {
            from->under_way -=
                std::min<std::size_t>(from->under_way, count_of(jsonrpc::read_object(message.bytes), "taken"));
            from->taken.notify();
            continue;
        }
        if (terminal) co_return heard_output{false, std::move(message.bytes)};
        if (message.bytes.empty() || (message.bytes[0] != output_stream && message.bytes[0] != error_stream))
            throw std::runtime_error("the server names a stream that this version does not know");
        co_return heard_output{message.bytes[0] == error_stream, message.bytes.substr(1)};
    }
}

awaitable<int> show_output(shared_attachment from, bool terminal)
{
    const auto executor = co_await asio::this_coro::executor;
    output_streams output(executor);
    int code = 0;
    for (;;) {
        auto heard = co_await next_output(from, terminal, code);
        if (!heard) break;
        co_await output.write(heard->to_errors, std::move(heard->bytes));
    }
    co_return code;
}

}  // namespace

bool has_terminal() { return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1; }

awaitable<int> attach(server_client& server, attached_program what)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto to = std::make_shared<attachment>();
    auto target = path_of_shell(what);
    to->socket = co_await server.open_socket(std::move(target));
    const auto input = std::make_shared<descriptor_stream>(executor, STDIN_FILENO);
    std::optional<raw_terminal> raw;
    if (what.terminal) raw.emplace();
    task_group tasks(executor);
    tasks.spawn("signals", end_by_signal(to));
    tasks.spawn("input", what.terminal ? send_typed(to, input) : send_streamed(to, input));
    if (what.terminal) tasks.spawn("size of the terminal", tell_size(to));
    int code = 0;
    try {
        code = co_await show_output(to, what.terminal);
    } catch (const std::runtime_error&) {
        if (to->signal == 0) throw;
    }
    co_return to->signal == 0 ? code : 128 + to->signal;
}

awaitable<program_output> run_with(server_client& server, std::string sandbox, std::vector<std::string> argv,
                                   std::string input)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto to = std::make_shared<attachment>();
    const attached_program what{std::move(sandbox), std::move(argv)};
    auto target = path_of_shell(what);
    to->socket = co_await server.open_socket(std::move(target));
    task_group tasks(executor);
    tasks.spawn("input", send_text(to, std::move(input)));
    program_output all;
    for (;;) {
        auto heard = co_await next_output(to, false, all.code);
        if (!heard) break;
        (heard->to_errors ? all.err : all.out) += heard->bytes;
    }
    co_return all;
}

}  // namespace cmcp::command
