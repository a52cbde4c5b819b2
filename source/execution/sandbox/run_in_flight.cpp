#include "sandbox/run_in_flight.hpp"

#include "facilities/sealed_memory.hpp"
#include "posix/bytes.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <tuple>
#include <utility>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t result_limit = 1 << 20;
constexpr int pipe_size = 256 << 10;
constexpr std::size_t piece = 64 << 10;
constexpr std::size_t most_in_a_row = 64 << 10, cost_of_read = 4 << 10;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

run_stream::run_stream(const asio::any_io_executor& executor, unique_fd& write_end) : pipe_(executor)
{
    unique_fd read_end;
    std::tie(read_end, write_end) = make_pipe();
    if (!read_end) fail("pipe2");
    ::fcntl(read_end.get(), F_SETPIPE_SZ,
            pipe_size);                            // the user's share of pipe memory may be used up: then the default
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);  // the reading end only: the run's own end blocks
    pipe_.assign(read_end.release());
}

// The reader of a run that writes faster than its output is passed on would never have to wait.
awaitable<std::string> run_stream::read(std::size_t limit)
{
    if (in_a_row_ >= most_in_a_row) {
        in_a_row_ = 0;
        co_await asio::post(pipe_.get_executor(), asio::use_awaitable);
    }
    std::string buffer(std::min(limit, piece), '\0');
    for (;;) {
        const ssize_t length = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
        if (length >= 0) {
            buffer.resize(static_cast<std::size_t>(length));
            in_a_row_ += buffer.size() + cost_of_read;
            co_return buffer;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) fail("read");
        if (ended_) co_return std::string();
        in_a_row_ = 0;
        auto [error] = co_await pipe_.async_wait(asio::posix::stream_descriptor::wait_read, as_tuple);
        if (error && !ended_) co_return std::string();
    }
}

void run_stream::run_ended()
{
    ended_ = true;
    pipe_.cancel();
}

run_in_flight::run_in_flight(std::shared_ptr<native_backend::link> link, const run_request& request,
                             output_receiver& output, bool probe)
    : link_(std::move(link)),
      output_(output),
      id_(link_->next_id()),
      limit_(request.limits.output),
      may_precede_doors_(!request.doors.empty() || request.tools),
      out_(link_->executor(), out_end_),
      err_(link_->executor(), err_end_)
{
    if (request.result_channel) result_.emplace(link_->executor(), result_end_);
    if (request.asks_after.count() > 0) asks_at_ = event::clock::now() + request.asks_after;
    pending_ = link_->expect(id_);
    send_start(request, probe);
}

// NOLINTNEXTLINE(bugprone-exception-escape): a server without memory for this message ends
run_in_flight::~run_in_flight()
{
    if (!pending_->result) kill(cause::cancelled);
    link_->forget(id_);
}

void run_in_flight::kill(cause why)
{
    if (!killed_for_) killed_for_ = why;
    asks_at_ = event::clock::time_point::max();
    link_->send(encode_cancel(id_));
}

awaitable<> run_in_flight::pump_output(stream name)
{
    run_stream& from = name == stream::out ? out_ : err_;
    std::exception_ptr failure;
    try {
        co_await pump(from, name);
    } catch (...) {
        failure = std::current_exception();
    }
    if (!failure) co_return;
    kill(cause::cancelled);  // a receiver that failed will not take more
    std::rethrow_exception(failure);
}

awaitable<> run_in_flight::pump(run_stream& from, stream name)
{
    std::uint64_t left = limit_;
    bool over = false;
    for (;;) {
        const std::string bytes = co_await from.read(piece);
        if (std::exchange(may_precede_doors_, false)) link_->read_packets();
        if (bytes.empty()) co_return;
        const auto accepted = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
        left -= accepted;
        if (accepted < bytes.size() && !std::exchange(over, true)) kill(cause::output_limit);
        if (accepted > 0) co_await output_.receive(name, std::string_view(bytes).substr(0, accepted));
    }
}

awaitable<> run_in_flight::collect_result()
{
    while (result_) {
        const std::string bytes = co_await result_->read(piece);
        if (bytes.empty()) co_return;
        text_.append(bytes, 0, result_limit - text_.size());
    }
}

awaitable<> run_in_flight::wait_for_end()
{
    while (!pending_->result) {
        co_await pending_->arrived.wait(asks_at_);
        if (pending_->result || event::clock::now() < asks_at_) continue;
        asks_at_ = event::clock::time_point::max();
        const auto more = co_await output_.more_time();
        if (more.count() == 0 && !pending_->result) kill(cause::timeout);
    }
    out_.run_ended();
    err_.run_ended();
    if (result_) result_->run_ended();
}

run_result run_in_flight::take_result()
{
    run_result result = std::move(*pending_->result);
    const bool at_our_wish = result.why == cause::cancelled && killed_for_;
    const bool cut_short = result.why != cause::setup_failed && killed_for_ == cause::output_limit;
    if (at_our_wish || cut_short) result.why = *killed_for_;
    result.result = std::move(text_);
    return result;
}

void run_in_flight::send_start(const run_request& request, bool probe)
{
    std::vector<unique_fd> descriptors;
    std::string body = encode_start(id_, probe, request);
    std::string message(1, static_cast<char>(message_kind::start));
    if (body.size() + 1 > packet_limit) {
        message[0] = static_cast<char>(message_kind::start_in_memfd);
        descriptors.push_back(sealed_memory("request", body));
    } else {
        message += body;
    }
    if (request.merged) err_end_.reset(::fcntl(out_end_.get(), F_DUPFD_CLOEXEC, 3));
    descriptors.push_back(std::move(out_end_));
    descriptors.push_back(std::move(err_end_));
    if (request.input) descriptors.push_back(sealed_memory("input", *request.input));
    if (request.channel)
        descriptors.emplace_back(::fcntl(request.channel->get(), F_DUPFD_CLOEXEC, 3));
    else if (request.script)
        descriptors.push_back(sealed_memory("script", *request.script));
    if (result_) descriptors.push_back(std::move(result_end_));
    link_->send(std::move(message), std::move(descriptors));
}

}  // namespace cmcp::sandbox
