#include "shells/command_shell.hpp"

#include "async/uncancelled.hpp"
#include "hold/library.hpp"
#include "hold/shell_command.hpp"
#include "kernels/marked_stream.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"
#include "text/words.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace cmcp {

using boost::system::system_error;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_line = 256;  // of an answer
constexpr auto patience_with_start = 10s;
constexpr auto ending_of_command_shell = 5s;
constexpr sandbox::terminal_size any_size{80, 24};

// An interrupt can come when a program has no ear for it, so it is sent again; at last the library kills the programs
// in the foreground.
struct nudge {
    int signal;
    std::chrono::milliseconds patience;
};
constexpr std::array nudges{nudge{SIGINT, 500ms}, nudge{SIGINT, 1500ms}, nudge{SIGINT, 1000ms}, nudge{SIGQUIT, 500ms},
                            nudge{SIGQUIT, 1000ms}};

std::string order_for(const std::string& mark, const std::string& folder, const std::string& variable,
                      const std::string& command)
{
    const auto length = [](const std::string& text) { return static_cast<std::uint32_t>(text.size()); };
    const sandbox::shell_command_head head{length(mark), length(folder), length(variable), length(command)};
    std::string bytes(sizeof head, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes + mark + folder + variable + command;
}

}  // namespace

struct command_shell::execution {
    std::string mark;
    sandbox::output_receiver* output = nullptr;
    std::array<marked_stream, 2> streams;
    std::array<std::uint64_t, 2> printed{};
    bool begun = false;
    std::optional<int> status;
    std::string flags;

    void note(std::string_view answer)
    {
        begun = true;
        const auto words = split(answer, ' ');
        if (words.size() != 3) return;
        status = read_number<int>(words[1]);
        flags = words[2];
    }
};

/// Gives the output to the command that runs; what jobs print between commands waits for the next. What comes on
/// standard error then, prompts among it, is dropped.
class command_shell::receiver final : public sandbox::output_receiver {
public:
    explicit receiver(command_shell& of) : of_(of) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        const auto one = of_.current_;
        if (!one) {
            if (from == sandbox::stream::out) co_await of_.late_.receive(from, std::string(bytes));
            co_return;
        }
        const std::size_t which = from == sandbox::stream::out ? 0 : 1;
        one->printed[which] += bytes.size();
        if (one->printed[which] > of_.most_output_ && !std::exchange(of_.flooded_, true)) of_.tasks_.cancel_all();
        const std::string text = one->streams[which].put(bytes);
        if (!text.empty() && one->output != nullptr) co_await one->output->receive(from, text);
        if (from == sandbox::stream::out) co_await of_.late_.receive(from, one->streams[which].behind());
        one->streams[which].delivered();
        of_.changed_.notify();
    }

private:
    command_shell& of_;
};

command_shell::command_shell(asio::any_io_executor executor, sandbox::backend& backend)
    : executor_(executor),
      backend_(backend),
      channel_(executor),
      output_(std::make_unique<receiver>(*this)),
      tasks_(executor)
{
}

command_shell::~command_shell() = default;

void command_shell::start(sandbox::run_request request)
{
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    channel_.assign(ours.release());
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    request.terminal = any_size;
    request.terminal_speaks = false;
    request.input = sandbox::shell_library_bytes();
    request.argv = {"/usr/bin/bash", "--norc", "--noprofile", "--noediting", "+H", "+O", "checkwinsize", "-i"};
    request.environment.emplace_back("LD_PRELOAD", sandbox::shell_preload);
    request.environment.emplace_back("PS1", "");
    most_output_ = std::exchange(request.limits.output, std::numeric_limits<std::uint64_t>::max());
    started_ = true;
    tasks_.spawn("command shell", run(std::move(request)));
    tasks_.spawn("command shell answers", listen());
}

// The coroutine keeps the shell alive.
awaitable<> command_shell::run(sandbox::run_request request)
{
    const auto self = shared_from_this();
    sandbox::run_result ended;
    ended.why = sandbox::cause::cancelled;
    try {
        ended = co_await backend_.run(std::move(request), *output_);
    } catch (const system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) ended.error = failure.what();
    }
    if (flooded_) ended.why = sandbox::cause::output_limit;
    end_ = std::move(ended);
    boost::system::error_code ignored;
    channel_.close(ignored);
    changed_.notify();
}

awaitable<> command_shell::listen()
{
    const auto self = shared_from_this();
    terminal_ = co_await sandbox::terminal_master::receive(channel_);
    changed_.notify();
    std::string heard;
    while (terminal_ && channel_.is_open()) {
        auto [failure, length] =
            co_await asio::async_read_until(channel_, asio::dynamic_buffer(heard, longest_line), '\n', as_tuple);
        if (failure) break;
        note(std::string_view(heard).substr(0, length - 1));
        heard.erase(0, length);
    }
    boost::system::error_code ignored;
    channel_.close(ignored);
}

// A line that is none of an answer is a program's that found the channel; it is nobody's.
void command_shell::note(std::string_view line)
{
    if (line == sandbox::shell_ready) ready_ = true;
    if (current_ && line.starts_with(current_->mark)) current_->note(line.substr(current_->mark.size()));
    changed_.notify();
}

bool command_shell::over(const execution& one) const
{
    return end_ || (one.status && one.streams[0].ended() && one.streams[1].ended());
}

awaitable<> command_shell::wait_for(std::shared_ptr<execution> one, event::clock::time_point until)
{
    while (!over(*one) && event::clock::now() < until) co_await changed_.wait(until);
}

awaitable<> command_shell::send(std::string line)
{
    if (!channel_.is_open()) co_return;
    const auto sent = co_await asio::async_write(channel_, asio::buffer(line), as_tuple);
    static_cast<void>(sent);  // a shell that has gone is seen by its end
}

awaitable<bool> command_shell::make_ready()
{
    const auto until = event::clock::now() + patience_with_start;
    while (!(ready_ && terminal_) && !end_ && event::clock::now() < until) co_await changed_.wait(until);
    const bool ready = ready_ && terminal_ && !end_;
    if (!ready) co_await finish();
    co_return ready;
}

awaitable<command_answer> command_shell::execute(std::string command, std::string folder, std::string variable,
                                                 sandbox::output_receiver& output, std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    command_answer answer;
    const auto one = std::make_shared<execution>();
    one->output = &output;
    answer.late_output = late_.take();
    bool cancelled = false;
    try {
        const bool ready = co_await make_ready();
        answer.lost = answer.unusable = !ready;
        if (!ready) co_return answer;
        one->mark = "\x1e" + random_id() + "\x1e";
        for (auto& stream : one->streams) stream.expect(one->mark);
        current_ = one;
        auto sending = send(order_for(one->mark, folder, variable, command));
        co_await uncancelled(std::move(sending));  // an order is whole or the channel is of no use
        for (auto time = limit; time.count() > 0;) {
            co_await wait_for(one, event::clock::now() + time);
            if (over(*one)) break;
            time = co_await output.more_time();
        }
    } catch (const system_error&) {
        cancelled = true;
    }
    // A cancelled coroutine may not await anything, and the command would run on.
    if (cancelled) co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    answer.timed_out = !cancelled && !over(*one);
    if (!over(*one)) {
        auto settling = settle(one);
        co_await uncancelled(std::move(settling));
    }
    current_.reset();
    if (cancelled) throw system_error(asio::error::operation_aborted);
    answer.lost = end_.has_value();
    answer.exit = one->status.value_or(-1);
    answer.by_errexit = one->flags.find(sandbox::shell_ended_by_errexit) != std::string::npos;
    answer.moved_output = one->flags.find(sandbox::shell_moved_output) != std::string::npos;
    co_return answer;
}

awaitable<> command_shell::settle(std::shared_ptr<execution> one)
{
    const auto until = event::clock::now() + patience_with_start;
    while (!one->begun && !over(*one) && event::clock::now() < until) co_await changed_.wait(until);
    for (const auto& [signal, patience] : nudges) {
        if (over(*one) || !one->begun) break;
        terminal_->signal(signal);
        co_await wait_for(one, event::clock::now() + patience);
    }
    if (!over(*one)) co_await finish();
}

awaitable<> command_shell::finish()
{
    const auto self = shared_from_this();
    if (!alive()) co_return;
    tasks_.cancel_all();
    const auto until = event::clock::now() + ending_of_command_shell;
    while (!end_ && event::clock::now() < until) co_await changed_.wait(until);
}

}  // namespace cmcp
