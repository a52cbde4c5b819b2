#include "shells/command_shell.hpp"

#include "async/uncancelled.hpp"
#include "sandboxes/marked_stream.hpp"
#include "text/number.hpp"
#include "text/random_id.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <limits>
#include <utility>

namespace cmcp {

using boost::system::system_error;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_line = 256;  // of an answer
constexpr auto patience_after_interrupt = 3s;
constexpr auto patience_after_quit = 1s;
constexpr auto patience_with_start = 10s;
constexpr auto ending_of_command_shell = 5s;
constexpr sandbox::terminal_size any_size{80, 24};

// Bash reads commands from the channel, a line each. It is interactive, so that an interrupt leads back to the next
// line, whatever the command is. 10 and 11 are its own outputs; a command has them as 1 and 2 alone.
constexpr const char* starts_shell =
    "exec 10>&1 11>&2; exec \"${BASH:-bash}\" --norc --noprofile --noediting +m -i <&3 3>&-";

// Before each line, also after an interrupt: the mark ends the outputs, and the exit status goes to the channel.
constexpr const char* ends_command =
    "__s=$?; builtin printf %s \"$__m\" >&10; builtin printf %s \"$__m\" >&11; builtin printf '%s %d\\n' \"$__m\" "
    "\"$__s\" >&0";

constexpr const char* settles_shell = "PS1= PS2=; set +m +H +o history; shopt -u checkwinsize; unset MAILCHECK\n";

std::string in_quotes(std::string_view text)
{
    std::string out = "$'";
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string line_of(const std::string& command, const std::string& folder, const command_shell::variables& with)
{
    std::string settings;
    for (const auto& [name, value] : with) settings += "builtin export " + name + "=" + in_quotes(value) + "; ";
    std::string work = "eval -- " + in_quotes(command);
    if (!folder.empty()) work = "builtin cd -- " + in_quotes(folder) + " && " + work;
    return "{ " + settings + work + "; } </dev/null >&10 2>&11 10>&- 11>&-\n";
}

}  // namespace

struct command_shell::execution {
    std::string mark;
    sandbox::output_receiver* output = nullptr;
    std::array<marked_stream, 2> streams;
    std::array<std::uint64_t, 2> printed{};
    std::optional<int> status;
};

/// Gives the output to the command that runs; what jobs print between commands is dropped.
class command_shell::receiver final : public sandbox::output_receiver {
public:
    explicit receiver(command_shell& of) : of_(of) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        const auto one = of_.current_;
        if (!one) co_return;
        const std::size_t which = from == sandbox::stream::out ? 0 : 1;
        one->printed[which] += bytes.size();
        if (one->printed[which] > of_.most_output_ && !std::exchange(of_.flooded_, true)) of_.tasks_.cancel_all();
        const std::string text = one->streams[which].put(bytes);
        if (!text.empty() && one->output != nullptr) co_await one->output->receive(from, text);
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
    request.argv = {"/usr/bin/bash", "--norc", "--noprofile", "-c", starts_shell};
    request.environment.emplace_back("PROMPT_COMMAND", ends_command);
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
    if (!current_ || !line.starts_with(current_->mark) || line.size() <= current_->mark.size()) return;
    current_->status = read_number<int>(line.substr(current_->mark.size() + 1));
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

awaitable<> command_shell::put_to_end(std::shared_ptr<execution> one, std::string line, event::clock::time_point until)
{
    one->mark = "\x1e" + random_id() + "\x1e";
    for (auto& stream : one->streams) stream.expect(one->mark);
    current_ = one;
    line = "__m=" + in_quotes(one->mark) + "; " + line;
    auto sending = send(std::move(line));
    co_await uncancelled(std::move(sending));  // a line is whole or the channel is of no use
    co_await wait_for(one, until);
}

awaitable<bool> command_shell::make_ready()
{
    if (ready_) co_return true;
    const auto until = event::clock::now() + patience_with_start;
    while (!terminal_ && !end_ && event::clock::now() < until) co_await changed_.wait(until);
    const auto first = std::make_shared<execution>();
    if (terminal_) co_await put_to_end(first, settles_shell, until);
    current_.reset();
    ready_ = first->status.has_value() && !end_;
    if (!ready_) co_await finish();
    co_return ready_;
}

awaitable<command_answer> command_shell::execute(std::string command, std::string folder, variables with,
                                                 sandbox::output_receiver& output, std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    command_answer answer;
    const auto one = std::make_shared<execution>();
    one->output = &output;
    bool cancelled = false;
    try {
        const bool ready = co_await make_ready();
        answer.lost = !ready;
        if (!ready) co_return answer;
        auto line = line_of(command, folder, with);
        co_await put_to_end(one, std::move(line), event::clock::now() + limit);
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
    co_return answer;
}

awaitable<> command_shell::settle(std::shared_ptr<execution> one)
{
    if (terminal_ && ready_) {
        terminal_->signal(SIGINT);
        co_await wait_for(one, event::clock::now() + patience_after_interrupt);
        if (!over(*one)) terminal_->signal(SIGQUIT);
        co_await wait_for(one, event::clock::now() + patience_after_quit);
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
