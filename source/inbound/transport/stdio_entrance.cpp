#include "transport/stdio_entrance.hpp"

#include "async/with_deadline.hpp"
#include "config/http_settings.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/line_splitter.hpp"
#include "transport/stdio.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_clients = 64;
constexpr std::chrono::seconds time_for_greeting(10);
constexpr std::size_t longest_greeting = 4096;

constexpr std::string_view version_member = "container_mcp_stdio";
constexpr int version = 1;

std::optional<json::object> read_line(std::string_view line)
{
    boost::system::error_code unreadable;
    const auto value = json::parse(line, unreadable);
    const auto* members = value.if_object();
    const auto* said = members == nullptr ? nullptr : members->if_contains(version_member);
    if (said == nullptr || *said != version) return std::nullopt;
    return *members;
}

// Other users of the machine cannot open the socket, whose mode is 0600; this holds where its file was moved or opened
// to others.
bool is_same_user(int socket)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

// Empty: the client went away, or sent no such line.
awaitable<std::string> first_line(descriptor_stream& stream, line_splitter& lines)
{
    std::optional<line_splitter::line> line;
    std::size_t length = 0;
    while (!line && length <= longest_greeting) {
        const std::string bytes = co_await stream.read_some();
        if (bytes.empty()) co_return std::string();
        length += bytes.size();
        lines.append(bytes);
        line = lines.next();
    }
    co_return line && line->text.size() <= longest_greeting ? std::move(line->text) : std::string();
}

awaitable<std::string> first_line_in_time(descriptor_stream& stream, line_splitter& lines)
{
    std::string line;
    try {
        line = co_await with_deadline(first_line(stream, lines), time_for_greeting);
    } catch (const deadline_exceeded&) {
        log::info("stdio_client_refused", {{"reason", "it did not say what it wants in time"}});
    }
    co_return line;
}

stdio_welcome answer_to(const std::optional<stdio_greeting>& greeting, server_core& core, std::size_t clients)
{
    stdio_welcome answer;
    answer.process = ::getpid();
    if (!greeting)
        answer.refusal = "This socket is for `container-mcp stdio` of the same version.";
    else if (clients > most_clients)
        answer.refusal =
            "The server has " + std::to_string(most_clients) + " clients of `container-mcp stdio`: end one first.";
    else if (core.tools().profiles().knows(greeting->profile))
        answer.profile = greeting->profile;
    return answer;
}

}  // namespace

std::string stdio_greeting::text() const
{
    return jsonrpc::write_json(json::object{{version_member, version}, {"profile", profile}}) + "\n";
}

std::optional<stdio_greeting> stdio_greeting::read(std::string_view line)
{
    const auto members = read_line(line);
    if (!members) return std::nullopt;
    return stdio_greeting{text_of(*members, "profile").substr(0, 100)};
}

std::string stdio_welcome::text() const
{
    json::object line;
    line[version_member] = version;
    line["refusal"] = refusal;
    line["profile"] = profile;
    line["server"] = server;
    line["process"] = process;
    line["longest_line"] = longest_line;
    return jsonrpc::write_json(line) + "\n";
}

std::optional<stdio_welcome> stdio_welcome::read(std::string_view line)
{
    const auto members = read_line(line);
    if (!members) return std::nullopt;
    return stdio_welcome{text_of(*members, "refusal"), text_of(*members, "profile"), text_of(*members, "server"),
                         number_of(*members, "process"), static_cast<std::size_t>(count_of(*members, "longest_line"))};
}

stdio_entrance::stdio_entrance(asio::io_context& io, bound_address place, server_core& core,
                               const http_settings& config, std::string command)
    : core_(core),
      config_(config),
      command_(std::move(command)),
      listens_(io, std::move(place)),
      listening_(io.get_executor()),
      clients_(io.get_executor())
{
}

stdio_entrance::~stdio_entrance() { stop(); }

void stdio_entrance::start()
{
    listens_.start(listening_, [this](stream_socket socket) { take(std::move(socket)); });
}

void stdio_entrance::take(stream_socket socket)
{
    unique_fd peer(socket.release());
    if (!is_same_user(peer.get())) {
        log::warning("stdio_client_refused", {{"reason", "it belongs to another user"}});
        return;
    }
    // Those beyond the limit are told so, within a limit of their own.
    if (clients_.size() >= 2 * most_clients) return;
    clients_.spawn("client of stdio", serve(*this, std::move(peer)));
}

awaitable<> stdio_entrance::serve(stdio_entrance& by, unique_fd socket)
{
    const auto executor = co_await asio::this_coro::executor;
    descriptor_stream stream(executor, socket.get());
    line_splitter lines(by.config_.max_body_bytes);
    const std::string line = co_await first_line_in_time(stream, lines);
    if (line.empty()) co_return;
    const auto greeting = stdio_greeting::read(line);
    auto welcome = answer_to(greeting, by.core_, by.clients_.size());
    welcome.server = by.command_;
    welcome.longest_line = by.config_.max_body_bytes;
    std::string answer = welcome.text();
    const bool heard = co_await stream.write(std::move(answer));
    if (!heard || !welcome.refusal.empty()) co_return;
    co_await serve_relayed(by.core_, by.config_, stream, lines, std::move(welcome.profile), socket.get());
}

void stdio_entrance::stop()
{
    if (std::exchange(stopped_, true)) return;
    // Before it is closed: afterwards the file may be the socket of the next server.
    if (!listens_.address().path().empty()) ::unlink(listens_.address().path().c_str());
    listens_.close();
    clients_.cancel_all();
}

awaitable<> stdio_entrance::ended(std::chrono::milliseconds limit) { co_await clients_.wait_idle(limit); }

}  // namespace cmcp
