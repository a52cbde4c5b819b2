#include "server/stdio_relay.hpp"

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "async/with_deadline.hpp"
#include "config/settings.hpp"
#include "log/log.hpp"
#include "posix/child_process.hpp"
#include "server/admin_socket.hpp"
#include "server/run_loop.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/relayed_session.hpp"
#include "transport/stdio.hpp"
#include "transport/stdio_entrance.hpp"
#include "transport/stdio_sink.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <limits>
#include <memory>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

// A server that has just been started answers when it serves.
constexpr std::chrono::seconds time_for_welcome(60);
// `serve` that ends is often being started again.
constexpr std::chrono::seconds time_for_restart(5);
constexpr std::chrono::milliseconds between_attempts(50);

constexpr std::size_t longest_welcome = 4096;
constexpr int attempts = 3;

std::string path_of_socket(const settings& config) { return socket_path(config, "stdio.sock"); }

// Several that find the socket of a server that has ended come one after another: the second one would remove that of
// the first one. Throws std::runtime_error where another process listens there.
bound_address bind_socket(const settings& config)
{
    const unique_fd folder(::open(config.sandbox_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) ::flock(folder.get(), LOCK_EX);
    return bound_address("unix:" + path_of_socket(config), 0);
}

std::optional<bound_address> free_socket(const settings& config)
try {
    return bind_socket(config);
} catch (const std::exception&) {
    return std::nullopt;
}

// Of the relay that has started this process as a server.
std::optional<bound_address> handed_socket(const settings& config)
{
    constexpr int fd = server_child::handed_descriptor;
    const auto path = path_of_socket(config);
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_un address{};
    socklen_t length = sizeof address - 1;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return std::nullopt;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
    if (address.sun_family != AF_UNIX || address.sun_path != path) return std::nullopt;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return bound_address(path, unique_fd(fd));
}

// TOOLS, which the running server knows where it is the name of a profile.
std::string profile_of(const loaded_settings& loaded)
{
    const auto& tools = loaded.values.tools;
    return loaded.origins.contains("TOOLS") && tools.size() == 1 ? tools.front() : std::string();
}

// The settings that the command line gives or that choose tools; others are often the same as those of the server.
void warn_of_own_settings(const loaded_settings& loaded, const std::string& profile)
{
    json::array names;
    for (const auto& [name, origin] : loaded.origins) {
        const bool counts = name == "SANDBOX_ROOT" || name.starts_with("LOG_") || (name == "TOOLS" && !profile.empty());
        if (!counts && (origin.starts_with("--") || name == "TOOLS")) names.emplace_back(name);
    }
    if (!names.empty())
        log::warning("settings_without_effect",
                     {{"names", names}, {"reason", "the server of this SANDBOX_ROOT runs already and has its own"}});
}

/// A server, and the way to it.
struct server_link {
    server_link(const asio::any_io_executor& executor, unique_fd to, std::size_t longest)
        : socket(std::move(to)), stream(executor, socket.get()), longest_line(longest)
    {
    }

    unique_fd socket;
    descriptor_stream stream;
    line_splitter lines{std::numeric_limits<std::size_t>::max()};  // the server has had each in its memory as well
    std::size_t longest_line;
    unique_fd process;        // pidfd; none: unknown, or it has ended
    bool may_return = false;  // it is `serve`
    bool answers = false;
};
using shared_link = std::shared_ptr<server_link>;

// Empty: the server went away.
awaitable<std::string> first_line(shared_link from)
{
    std::size_t length = 0;
    while (length <= longest_welcome) {
        if (auto line = from->lines.next()) co_return std::move(line->text);
        const std::string bytes = co_await from->stream.read_some();
        if (bytes.empty()) break;
        length += bytes.size();
        from->lines.append(bytes);
    }
    co_return std::string();
}

bool has_ended(const unique_fd& process)
{
    pollfd ended{process.get(), POLLIN, 0};
    return !process || ::poll(&ended, 1, 0) > 0;
}

awaitable<> end_of(int process)
{
    const auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor end(executor, ::fcntl(process, F_DUPFD_CLOEXEC, 3));
    co_await end.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
}

class client_relay {
public:
    client_relay(asio::any_io_executor executor, const loaded_settings& loaded, const own_start& again)
        : executor_(std::move(executor)), loaded_(loaded), again_(again), path_(path_of_socket(loaded.values))
    {
    }

    /// To the server that runs; null: none does.
    awaitable<shared_link> connect();

    /// From the server on, until the client ends.
    awaitable<> run(shared_link server);

private:
    class writing;

    awaitable<shared_link> welcomed(shared_link server);
    awaitable<> relay_all(shared_link server);
    awaitable<> relay_to(shared_link server);
    awaitable<shared_link> next_server(shared_link lost);
    awaitable<bool> connect_until_ended(shared_link lost, shared_link& next);
    shared_link start_server(unique_fd listening);
    awaitable<> child_ended();

    awaitable<> read_client(descriptor_stream& input);
    awaitable<> forward(line_splitter::line line);
    awaitable<> answer(std::string text);
    void end_client();
    awaitable<> end_unread_output(task_group& writer);

    // A server whose socket is gone answers what runs and ends its sandboxes.
    std::chrono::milliseconds time_for_end() const
    {
        return 2 * loaded_.values.drain_timeout + std::chrono::minutes(1);
    }

    std::string root() const { return "SANDBOX_ROOT=" + loaded_.values.sandbox_root.string(); }

    asio::any_io_executor executor_;
    const loaded_settings& loaded_;
    const own_start& again_;
    std::string path_;
    relayed_session session_;
    line_splitter lines_{loaded_.values.max_body_bytes};
    std::shared_ptr<stdio_sink> output_;
    std::optional<server_child> child_;
    shared_link server_;      // null: there is none at the moment
    shared_link connecting_;  // its welcome is waited for
    task_group reading_{executor_};
    event changed_;
    bool writes_ = false;
    bool answers_ = false;
    std::size_t answers_sent_ = 0;
    bool client_ended_ = false;
    bool warned_ = false;
    int silent_servers_ = 0;  // in turn
};

awaitable<shared_link> client_relay::connect()
{
    auto socket = connect_to(path_);
    if (!socket) co_return nullptr;
    connecting_ = std::make_shared<server_link>(executor_, std::move(socket), loaded_.values.max_body_bytes);
    auto server = co_await welcomed(connecting_);
    connecting_.reset();
    co_return server;
}

awaitable<shared_link> client_relay::welcomed(shared_link server)
{
    std::string greeting = stdio_greeting{profile_of(loaded_)}.text();
    const bool greeted = co_await server->stream.write(std::move(greeting));
    if (!greeted) co_return nullptr;
    std::string line;
    try {
        line = co_await with_deadline(first_line(server), time_for_welcome);
    } catch (const deadline_exceeded&) {
        throw std::runtime_error("the server of " + root() +
                                 " does not answer: end it, or set SANDBOX_ROOT to another "
                                 "folder for a server of its own");
    }
    if (line.empty()) co_return nullptr;
    const auto welcome = stdio_welcome::read(line);
    if (!welcome) throw std::runtime_error("the server of " + root() + " has another version: start it anew");
    if (!welcome->refusal.empty()) throw std::runtime_error(welcome->refusal);
    if (!std::exchange(warned_, true)) warn_of_own_settings(loaded_, welcome->profile);
    if (welcome->longest_line != 0) server->longest_line = welcome->longest_line;
    if (welcome->process > 0) server->process.reset(static_cast<int>(::syscall(SYS_pidfd_open, welcome->process, 0)));
    server->may_return = welcome->server == "serve";
    server->answers = true;
    log::info("relayed", {{"to", json::string(path_)}});
    co_return server;
}

awaitable<> client_relay::run(shared_link server)
{
    output_ = std::make_shared<stdio_sink>(executor_, STDOUT_FILENO);
    task_group writer(executor_);
    writer.spawn("standard output", output_->run());
    descriptor_stream input(executor_, STDIN_FILENO);
    reading_.spawn("standard input", read_client(input));
    task_group limits(executor_);
    limits.spawn("end of standard output", end_unread_output(writer));
    stop_signals signals;
    const stop_signals::loop stopped_by_signals(signals, executor_);
    signals.on_first([this] { end_client(); });
    std::exception_ptr failure;
    try {
        co_await relay_all(std::move(server));
    } catch (const std::exception&) {
        failure = std::current_exception();
    }
    end_client();
    co_await reading_.wait_idle(time_to_end);
    output_->finish();
    co_await writer.wait_idle(loaded_.values.drain_timeout);
    if (child_) co_await child_ended();
    if (failure) std::rethrow_exception(failure);
}

awaitable<> client_relay::relay_all(shared_link server)
{
    while (server) {
        co_await relay_to(server);
        // The end of the server's stream is that of a write to it, too.
        ::shutdown(server->socket.get(), SHUT_RDWR);
        server_.reset();
        changed_.notify();
        while (writes_) co_await changed_.wait();
        auto lost = session_.lost();
        if (!client_ended_) log::info("server_ended", {{"requests_lost", lost.size()}});
        for (auto& text : lost) co_await answer(std::move(text));
        if (client_ended_) co_return;
        server = co_await next_server(std::move(server));
    }
}

awaitable<> client_relay::relay_to(shared_link server)
{
    lines_.limit(server->longest_line);
    for (auto& line : session_.to_send_again()) {
        line += '\n';
        co_await server->stream.write(std::move(line));
    }
    server_ = server;
    changed_.notify();
    if (client_ended_) ::shutdown(server->socket.get(), SHUT_WR);
    for (;;) {
        while (auto line = server->lines.next()) {
            server->answers = true;
            if (session_.concerns_client(line->text)) co_await answer(std::move(line->text));
        }
        const std::string bytes = co_await server->stream.read_some();
        if (bytes.empty()) co_return;
        server->lines.append(bytes);
    }
}

// Null: the client has ended meanwhile.
awaitable<shared_link> client_relay::next_server(shared_link lost)
{
    silent_servers_ = lost->answers ? 0 : silent_servers_ + 1;
    if (silent_servers_ == attempts)
        throw std::runtime_error("no server of " + root() +
                                 " can be started in the place of the one that has ended: see the lines above");
    shared_link next;
    if (child_) co_await child_ended();
    const bool wanted = co_await connect_until_ended(lost, next);
    if (!wanted || next) co_return next;
    for (int i = 0; i != attempts && !client_ended_; ++i) {
        if (auto own = free_socket(loaded_.values)) co_return start_server(std::move(own->take_sockets().front()));
        next = co_await connect();
        if (next) co_return next;
    }
    co_return client_ended_ ? nullptr : start_server({});
}

// Until the process of the last server has ended, whose files and sandboxes are those of the next one. False: the
// client has ended meanwhile.
awaitable<bool> client_relay::connect_until_ended(shared_link lost, shared_link& next)
{
    auto until = event::clock::now() + time_for_end();
    bool ended = false;
    while (!client_ended_) {
        next = co_await connect();
        if (next) co_return true;
        const auto now = event::clock::now();
        if (!ended && has_ended(lost->process)) {
            ended = true;
            until = now + (lost->may_return ? time_for_restart : std::chrono::seconds(0));
        }
        if (now >= until) co_return true;
        co_await changed_.wait(now + between_attempts);
    }
    co_return false;
}

shared_link client_relay::start_server(unique_fd listening)
{
    child_.emplace(again_, std::move(listening));
    auto server = std::make_shared<server_link>(executor_, child_->take_streams(), loaded_.values.max_body_bytes);
    server->process.reset(::fcntl(child_->process(), F_DUPFD_CLOEXEC, 3));
    log::info("server_started", {{"process", child_->number()}});
    return server;
}

// The child ends with its input, in the time that it takes to end its sandboxes; at the limit it is killed.
awaitable<> client_relay::child_ended()
{
    try {
        co_await with_deadline(end_of(child_->process()), time_for_end());
    } catch (const deadline_exceeded&) {
        log::warning("server_killed", {{"reason", "it did not end"}, {"process", child_->number()}});
    }
    child_.reset();
}

awaitable<> client_relay::read_client(descriptor_stream& input)
{
    for (;;) {
        while (auto line = lines_.next()) co_await forward(std::move(*line));
        const std::string bytes = co_await input.read_some();
        if (bytes.empty()) break;
        lines_.append(bytes);
    }
    if (client_ended_) co_return;
    if (auto line = lines_.rest()) co_await forward(std::move(*line));
    end_client();
}

class client_relay::writing {
public:
    explicit writing(client_relay& by) : by_(by) { by_.writes_ = true; }
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing()
    {
        by_.writes_ = false;
        by_.changed_.notify();
    }

private:
    client_relay& by_;
};

// A line that could not be written whole has not been read as a line, and is for the next server.
awaitable<> client_relay::forward(line_splitter::line line)
{
    if (line.too_long) {
        auto refusal = refusal_of_long_line();
        co_await answer(std::move(refusal.text));
        co_return;
    }
    for (bool sent = false; !sent;) {
        while (!server_) co_await changed_.wait();
        const auto server = server_;
        {
            const writing until_it_is_known(*this);
            session_.expect(line.text);
            std::string bytes = line.text + "\n";
            sent = co_await server->stream.write(std::move(bytes));
            if (sent)
                session_.keep(line.text);
            else
                session_.forget(line.text);
        }
        while (!sent && server_ == server) co_await changed_.wait();
    }
}

// A client that reads no more has ended.
awaitable<> client_relay::answer(std::string text)
{
    outgoing message;
    message.text = std::move(text);
    answers_ = true;
    const bool sent = co_await output_->send(std::move(message));
    answers_ = false;
    ++answers_sent_;
    if (!sent) end_client();
}

// That of a client that has ended without a word, and reads no more.
awaitable<> client_relay::end_unread_output(task_group& writer)
{
    while (!client_ended_) co_await changed_.wait();
    for (;;) {
        const auto before = answers_sent_;
        asio::steady_timer timer(executor_, loaded_.values.drain_timeout);
        co_await timer.async_wait(asio::use_awaitable);
        if (answers_ && answers_sent_ == before) writer.cancel_all();
    }
}

void client_relay::end_client()
{
    if (std::exchange(client_ended_, true)) return;
    reading_.cancel_all();
    if (server_) ::shutdown(server_->socket.get(), SHUT_WR);  // what runs is still answered
    if (connecting_) ::shutdown(connecting_->socket.get(), SHUT_RDWR);
    changed_.notify();
}

// Of several that begin at once, one has the socket; the others find it there.
awaitable<> begin(asio::any_io_executor executor, const loaded_settings& loaded, const own_start& again,
                  relay_or_socket& outcome)
{
    client_relay relay(executor, loaded, again);
    for (int i = 0; i != attempts; ++i) {
        auto server = co_await relay.connect();
        if (server) {
            ignore_signals();
            co_await relay.run(std::move(server));
            outcome = 0;
            co_return;
        }
        if (auto own = free_socket(loaded.values)) {
            outcome = std::move(own);
            co_return;
        }
    }
    outcome = stdio_socket(loaded.values);
}

}  // namespace

std::optional<bound_address> stdio_socket(const settings& config)
try {
    return bind_socket(config);
} catch (const std::exception& failure) {
    log::warning("no_stdio_socket", {{"reason", failure.what()}});
    return std::nullopt;
}

relay_or_socket relay_stdio(const loaded_settings& loaded, const own_start& again)
{
    if (auto handed = handed_socket(loaded.values)) return handed;
    relay_or_socket outcome;
    asio::io_context io(1);
    run_loop(io, begin(io.get_executor(), loaded, again, outcome));
    return outcome;
}

}  // namespace cmcp::command
