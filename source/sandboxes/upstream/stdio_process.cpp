#include "upstream/stdio_process.hpp"

#include "log/log.hpp"
#include "posix/unique_fd.hpp"
#include "runs/sandbox_error.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "upstream/upstream_text.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <sys/socket.h>

#include <limits>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::size_t piece_of_line = 64 * 1024;
constexpr std::size_t longest_error_line = 500;
constexpr std::size_t most_logged_lines = 200;
constexpr std::size_t most_outgoing = 32 << 20;
constexpr auto process_ending_limit = std::chrono::seconds(5);

std::string end_in_words(const sandbox::run_result& end)
{
    if (end.why == sandbox::cause::exited) return "ended with exit code " + std::to_string(end.exit_code);
    if (end.why == sandbox::cause::setup_failed) return "could not be started: " + end.error;
    if (end.why == sandbox::cause::lost) return "is gone with the launcher";
    return "ended: " + std::string(to_string(end.why)) + (end.detail.empty() ? "" : " (" + end.detail + ")");
}

}  // namespace

/// Keeps the last line of standard error.
class stdio_process::error_lines : public sandbox::output_receiver {
public:
    explicit error_lines(stdio_process& of) : of_(of) {}

    awaitable<> receive(sandbox::stream, std::string_view bytes) override
    {
        for (const char c : bytes) {
            if (c == '\n')
                end_line();
            else if (line_.size() < 4 * longest_error_line)
                line_ += c;
        }
        co_return;
    }

    void end_line()
    {
        if (!line_.empty()) of_.note_error_line(line_);
        line_.clear();
    }

private:
    stdio_process& of_;
    std::string line_;
};

stdio_process::stdio_process(asio::any_io_executor executor, const upstream_entry& entry, sandbox::backend& backend,
                             sandbox_runner& runs)
    : entry_(entry),
      backend_(backend),
      runs_(runs),
      link_(executor),
      errors_(std::make_unique<error_lines>(*this)),
      messages_(&runs.pool()),
      tasks_(executor)
{
    messages_.reply = [this](std::string text) { send(std::move(text)); };
}

stdio_process::~stdio_process() = default;

void stdio_process::start(sandbox_record where, sandbox::run_request request)
{
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    request.limits.output = std::numeric_limits<std::uint64_t>::max();  // only the last line is kept
    link_.assign(ours.release());
    started_ = true;
    began_ = event::clock::now();
    tasks_.spawn("upstream server", run(shared_from_this(), std::move(where), std::move(request)));
    tasks_.spawn("messages of an upstream server", listen(shared_from_this()));
}

awaitable<> stdio_process::run(std::shared_ptr<stdio_process> self, sandbox_record where, sandbox::run_request request)
{
    std::string why = "was ended";
    try {
        auto work = self->backend_.run(std::move(request), *self->errors_);
        const auto end = co_await self->runs_.guarded(std::move(where), std::move(work));
        why = end_in_words(end);
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) why = std::string("failed: ") + failure.what();
    } catch (const sandbox_error& ended) {
        why = std::string("was ended. ") + ended.what();
    }
    self->errors_->end_line();
    if (self->why_.empty()) self->why_ = std::move(why);
    self->ended_ = true;
    self->end_ = event::clock::now();
    boost::system::error_code ignored;
    self->link_.close(ignored);
    self->changed_.notify();
}

awaitable<> stdio_process::listen(std::shared_ptr<stdio_process> self)
{
    std::vector<char> piece(piece_of_line);
    for (;;) {
        auto [failure, got] = co_await self->link_.async_read_some(asio::buffer(piece), as_tuple);
        if (failure) break;
        const std::string_view bytes(piece.data(), got);
        const bool goes_on = co_await self->take(bytes);
        if (!goes_on) break;
    }
}

awaitable<bool> stdio_process::take(std::string_view bytes)
{
    unasked_ += bytes.size();
    for (auto end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
        partial_ += bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
        std::string line = std::exchange(partial_, {});
        co_await take_line(std::move(line));
    }
    partial_ += bytes;
    if (partial_.size() <= upstream_link::longest_message && unasked_ <= most_unasked) co_return true;
    stop("sent more than a message may hold");
    co_return false;
}

// Servers print what is none of the protocol there, although they should not.
awaitable<> stdio_process::take_line(std::string line)
{
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) co_return;
    try {
        const bool is_answer = co_await messages_.take(std::move(line));
        if (is_answer) unasked_ = 0;
    } catch (const jsonrpc::decode_error& problem) {
        log::debug("upstream_line", {{"upstream", entry_.name}, {"reason", std::string_view(problem.what())}});
    }
    changed_.notify();
}

void stdio_process::send(std::string message)
{
    if (!alive()) return;
    message += '\n';
    outgoing_bytes_ += message.size();
    outgoing_.push_back(std::move(message));
    if (outgoing_bytes_ > most_outgoing) return stop("does not read what it is sent");
    if (!std::exchange(writing_, true)) tasks_.spawn("to an upstream server", write(shared_from_this()));
}

awaitable<> stdio_process::write(std::shared_ptr<stdio_process> self)
{
    while (!self->outgoing_.empty()) {
        const std::string message = std::move(self->outgoing_.front());
        self->outgoing_.pop_front();
        auto [failure, sent] = co_await asio::async_write(self->link_, asio::buffer(message), as_tuple);
        if (failure) co_return;
        self->outgoing_bytes_ -= message.size();
    }
    self->writing_ = false;
}

void stdio_process::note_error_line(std::string_view line)
{
    last_line_ = without_secrets(shown_line(line, longest_error_line), entry_);
    if (++logged_ <= most_logged_lines) log::info("upstream_stderr", {{"upstream", entry_.name}, {"line", last_line_}});
}

void stdio_process::stop(std::string why)
{
    if (!alive()) return;
    if (why_.empty()) why_ = std::move(why);
    tasks_.cancel_all();
}

awaitable<> stdio_process::finish()
{
    const auto self = shared_from_this();
    stop("was ended");
    const auto until = event::clock::now() + process_ending_limit;
    while (started_ && !ended_ && event::clock::now() < until) co_await changed_.wait(until);
}

}  // namespace cmcp
