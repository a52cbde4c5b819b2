#include "directory/directory_link.hpp"

#include "egress/reach.hpp"
#include "egress/tls_trust.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>

#include <array>
#include <chrono>
#include <utility>

namespace cmcp {

using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds time_to_connect(3);
constexpr std::chrono::milliseconds time_to_answer(500);

// A coroutine that was cancelled ends as such.
void check(const error_code& failure)
{
    if (!failure) return;
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    throw directory_away(connection_problem(failure));
}

bool is_address(const std::string& host)
{
    error_code no_address;
    asio::ip::make_address(host, no_address);
    return !no_address;
}

}  // namespace

awaitable<> directory_link::connect()
{
    try {
        auto socket = co_await reach(to_.host, to_.port, time_to_connect);
        stream_ = std::make_unique<byte_stream>(std::move(socket));
    } catch (const unreachable_server& failure) {
        throw directory_away(failure.what());
    }
    stream_->expires_after(time_to_connect);
    if (to_.secure) {
        const auto failure = co_await secure(*stream_, tls_, to_.host, is_address(to_.host));
        if (failure && failure != asio::error::operation_aborted && failure != boost::beast::error::timeout)
            throw directory_away("no secure connection: " + handshake_problem(stream_->tls(), failure));
        check(failure);
    }
    co_await log_in();
    stream_->expires_never();
}

awaitable<> directory_link::log_in()
{
    std::vector<directory_command> commands;
    if (!to_.user.empty()) commands.push_back({"AUTH", to_.user, to_.password});
    if (to_.user.empty() && !to_.password.empty()) commands.push_back({"AUTH", to_.password});
    if (!to_.database.empty()) commands.push_back({"SELECT", to_.database});
    commands.push_back({"PING"});
    for (const auto& each : commands) {
        auto bytes = directory_bytes(each);
        co_await write_all(std::move(bytes));
        auto answer = replies_.next();
        while (!answer) {
            const auto more = co_await read_some();
            replies_.take(more);
            answer = replies_.next();
        }
        if (answer->is == directory_reply::kind::error) throw directory_away("it says: " + answer->text);
    }
}

awaitable<std::string> directory_link::read_some()
{
    std::array<char, 16 * 1024> bytes;
    const auto got = co_await stream_->read_some(asio::buffer(bytes));
    if (closed_) throw directory_away("it does not answer");
    check(got.failure);
    co_return std::string(bytes.data(), got.size);
}

awaitable<> directory_link::write_all(std::string bytes)
{
    const auto sent = co_await stream_->write(bytes);
    if (closed_) throw directory_away("it does not answer");
    check(sent.failure);
}

awaitable<> directory_link::read()
{
    for (;;) {
        while (auto answer = replies_.next()) note(std::move(*answer));
        const auto more = co_await read_some();
        replies_.take(more);
    }
}

awaitable<> directory_link::listen(std::string channel, std::function<void(const std::string& text)> heard)
{
    heard_ = std::move(heard);
    auto bytes = directory_bytes({"SUBSCRIBE", std::move(channel)});
    co_await write_all(std::move(bytes));
}

void directory_link::note(directory_reply answer)
{
    if (heard_) {
        if (answer.items.size() == 3 && answer.items[0].text == "message") heard_(answer.items[2].text);
        return;
    }
    if (waiting_.empty()) throw directory_away("it answers what nobody asked");
    auto of = waiting_.front();
    of->answers.push_back(std::move(answer));
    if (--of->missing != 0) return;
    waiting_.pop_front();
    of->answered.notify();
}

awaitable<> directory_link::write()
{
    while (!closed_) {
        if (unsent_.empty()) co_await more_.wait();
        if (closed_ || unsent_.empty()) continue;
        auto bytes = std::exchange(unsent_, {});
        co_await write_all(std::move(bytes));
    }
}

awaitable<std::vector<directory_reply>> directory_link::ask(std::vector<directory_command> commands)
{
    if (closed_ || commands.empty()) co_return std::vector<directory_reply>();
    auto own = std::make_shared<question>();
    own->missing = commands.size();
    for (const auto& each : commands) unsent_ += directory_bytes(each);
    waiting_.push_back(own);
    more_.notify();
    const auto until = event::clock::now() + time_to_answer;
    while (own->missing != 0 && !closed_) {
        const bool in_time = co_await own->answered.wait(until);
        if (!in_time) close();
    }
    co_return own->missing == 0 ? std::move(own->answers) : std::vector<directory_reply>();
}

void directory_link::close()
{
    if (std::exchange(closed_, true)) return;
    if (stream_) stream_->close();
    more_.notify();
    for (const auto& each : std::exchange(waiting_, {})) each->answered.notify();
}

}  // namespace cmcp
