#include "kernels/kernel_receiver.hpp"

#include "async/sized_work.hpp"
#include "async/uncancelled.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "posix/unique_fd.hpp"
#include "text/random_id.hpp"
#include "wire/packet_socket.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cmcp {

using boost::system::system_error;
using clock = event::clock;

namespace {

constexpr std::size_t longest_answer = 3 << 19;  // kernel_driver.py gives a million characters of a value
constexpr std::size_t longest_event = 12 << 20;  // kernel_notebook.py shows 8 MiB of forms
constexpr std::size_t longest_late = 1 << 20;    // event behind the end of a cell
constexpr std::size_t deepest_message = 256;
constexpr std::size_t longest_piece = 8 << 20;   // of state, which is passed on as it comes
constexpr auto grace = std::chrono::seconds(3);  // for code that was interrupted
constexpr auto kernel_ending_limit = std::chrono::seconds(5);
constexpr int most_on_the_way = 1 << 20;        // fewer turns of the processes when state goes over
constexpr unsigned char piece_of_state = 0x80;  // in a length: a piece of state follows, no message
constexpr unsigned char late_event = 0x40;      // what code shows behind the end of its cell

std::string framed_message(const json::object& message)
{
    const std::string text = jsonrpc::write_json(message);
    const auto size = text.size();
    std::string framed{static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                       static_cast<char>(size)};
    return framed += text;
}

// Assignment would copy the value out of the memory that it lives in.
template <class T>
void put_in_place(T& to, T&& from)
{
    std::destroy_at(&to);
    std::construct_at(&to, std::forward<T>(from));
}

void read_answer(json::object& message, kernel_answer& answer)
{
    answer.ok = flag_of(message, "ok");
    answer.exit = static_cast<int>(number_of(message, "exit"));
    if (auto* value = message.if_contains("result")) answer.result.emplace(std::move(*value));
    answer.result_is_repr = flag_of(message, "result_is_repr");
    if (const auto* left = message.if_contains("left_running"); left && left->is_array())
        for (const auto& each : left->get_array())
            if (each.is_string()) answer.left_running.emplace_back(each.get_string());
    if (auto* shown = message.if_contains("displays"); shown && shown->is_array())
        put_in_place(answer.displays, std::move(shown->get_array()));
    answer.cpu = std::chrono::microseconds(std::max<std::int64_t>(0, number_of(message, "cpu_us")));
    answer.peak_memory = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(message, "peak_bytes")));
    if (auto* state = message.if_contains("state"); state && state->is_object())
        put_in_place(answer.state, std::move(state->get_object()));
    answer.reason = text_of(message, "reason");
    if (auto* earlier = message.if_contains("earlier"); earlier && earlier->is_object())
        put_in_place(answer.earlier, std::move(earlier->get_object()));
}

}  // namespace

kernel_process::kernel_process(asio::any_io_executor executor, sandbox::backend& backend, blocking_pool& pool,
                               std::string owner)
    : executor_(executor),
      backend_(backend),
      pool_(pool),
      owner_(std::move(owner)),
      link_(executor),
      output_(std::make_unique<receiver>(*this)),
      tasks_(executor)
{
}

kernel_process::~kernel_process() = default;

void kernel_process::start(sandbox::run_request request, const json::object& first_message)
{
    first_message_ = framed_message(first_message);
    auto [ours, theirs] = sandbox::socket_pair(SOCK_STREAM);
    for (const int end : {ours.get(), theirs.get()})
        ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &most_on_the_way, sizeof most_on_the_way);
    request.channel = std::make_shared<unique_fd>(std::move(theirs));
    most_output_ = std::exchange(request.limits.output, std::numeric_limits<std::uint64_t>::max());
    link_.assign(ours.release());
    started_ = true;
    tasks_.spawn("kernel", run(std::move(request)));
    tasks_.spawn("kernel answers", listen());
}

// The coroutine keeps the kernel alive, so an owner that drops a kernel calls finish() first.
awaitable<> kernel_process::run(sandbox::run_request request)
{
    const auto self = shared_from_this();
    sandbox::run_result ended;
    ended.why = sandbox::cause::cancelled;
    try {
        ended = co_await backend_.run(std::move(request), *output_);
    } catch (const system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) ended.error = failure.what();
    }
    if (stopped_for_) ended.why = *stopped_for_;
    if (!stop_reason_.empty()) ended.error = stop_reason_;
    end_ = std::move(ended);
    boost::system::error_code ignored;
    link_.close(ignored);
    changed_.notify();
}

awaitable<bool> kernel_process::read_message()
{
    std::string head(4, '\0');
    auto [failure, got] = co_await asio::async_read(link_, asio::buffer(head), as_tuple);
    if (failure) co_return false;
    const auto byte = [&](int at) { return std::size_t{static_cast<unsigned char>(head[at])}; };
    const bool state = (byte(0) & piece_of_state) != 0;
    const std::size_t size =
        (byte(0) & ~std::size_t{piece_of_state | late_event}) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    if ((byte(0) & late_event) != 0 && !state) {
        const bool goes_on = co_await pass_on_late(size);
        co_return goes_on;
    }
    if (!awaits_message() || size > (state ? longest_piece : longest_message())) {
        stop(sandbox::cause::cancelled, "its program sent the server what no call awaits");
        co_return false;
    }
    if (state) {
        const bool whole = co_await pass_on(std::move(head), size);
        co_return whole;
    }
    auto heard = co_await read_body(size);
    if (!heard.whole) co_return false;
    const bool awaited = co_await note(std::move(heard));
    if (!awaited)
        stop(sandbox::cause::cancelled,
             "its program sent the server a message that answers no call: code that it ran has written to the kernel's "
             "own descriptor, or changed the kernel's program");
    co_return awaited;
}

// Code chooses what is in a message. A long one is parsed beside the loop, into memory that goes in one piece.
awaitable<kernel_process::heard_message> kernel_process::read_body(std::size_t size)
{
    std::string text(size, '\0');
    auto [failure, got] = co_await asio::async_read(link_, asio::buffer(text), as_tuple);
    if (failure) co_return heard_message();
    const bool is_passed_on = current_ && current_->listener != nullptr;  // else values become part of a result
    auto work = [text = std::move(text), is_passed_on] {
        heard_message heard;
        heard.whole = true;
        heard.bytes = text.size();
        auto in = text.size() > most_on_loop && is_passed_on ? json::make_shared_resource<json::monotonic_resource>()
                                                             : json::storage_ptr();
        auto message = jsonrpc::read_object(text, deepest_message, std::move(in));
        if (!message.contains("event")) {
            put_in_place(heard.head, std::move(message));
            return heard;
        }
        const auto& content = object_of(message, "content");
        heard.plain = text_of(object_of(content, "data"), "text/plain");
        heard.content = jsonrpc::write_json(content);
        heard.head["event"] = text_of(message, "event");
        if (const auto* id = message.if_contains("id"); id != nullptr && id->is_number()) heard.head["id"] = *id;
        return heard;
    };
    auto heard = co_await by_size(pool_, owner_, size, std::move(work));
    co_return heard;
}

awaitable<> kernel_process::listen()
{
    const auto self = shared_from_this();
    for (bool open = true; open;) open = co_await read_message();
    // The program has closed its end; closing ours ends it.
    boost::system::error_code ignored;
    link_.close(ignored);
    changed_.notify();
}

bool kernel_process::awaits_message() const { return current_ && !current_->answer; }

std::size_t kernel_process::longest_message() const
{
    return current_ && current_->listener != nullptr ? longest_event : longest_answer;
}

// The answer to a call comes before the call ends, so another message is none of kernel_driver.py.
bool kernel_process::answers_call(const json::object& message) const
{
    const auto* id = message.if_contains("id");
    return awaits_message() && id != nullptr && id->is_number() &&
           id->to_number<double>() == static_cast<double>(current_->id);
}

awaitable<bool> kernel_process::note(heard_message heard)
{
    if (!answers_call(heard.head)) co_return false;
    if (heard.head.contains("event")) {
        const bool passed = co_await pass_on_event(std::move(heard));
        co_return passed;
    }
    if (heard.head.contains("ask")) {
        if (heard.bytes > most_on_loop) co_return false;  // no question has so much
        co_return begin_question(std::move(heard.head));
    }
    current_->answer.emplace(std::move(heard.head));
    current_->answer_bytes = heard.bytes;
    changed_.notify();
    co_return true;
}

// Both streams wait at the event's mark, so all that was printed before it has been passed on.
awaitable<bool> kernel_process::pass_on_event(heard_message heard)
{
    const auto one = current_;
    if (one->listener == nullptr) co_return false;
    while (!end_ && !(one->streams[0].paused() && one->streams[1].paused())) co_await changed_.wait();
    if (end_) co_return true;
    auto kind = text_of(heard.head, "event");
    if (!kind.empty()) co_await one->listener->show(std::move(kind), std::move(heard.content));
    for (auto& stream : one->streams) stream.go_on();
    changed_.notify();
    co_return true;
}

// Such an event belongs to no call, so it may come at any time once there was a cell.
awaitable<bool> kernel_process::pass_on_late(std::size_t size)
{
    if (!had_cell_ || size > longest_late) {
        stop(sandbox::cause::cancelled, "its program sent the server what no call awaits");
        co_return false;
    }
    auto heard = co_await read_body(size);
    if (!heard.whole) co_return false;
    const bool is_first_too_much = shown_late_ <= most_output_ && shown_late_ + size > most_output_;
    shown_late_ += size;
    if (is_first_too_much)
        co_await late_.receive(sandbox::stream::err,
                               "What code shows behind the end of its cell is left out from here on: "
                               "it was too much. Run a cell, and it is shown again.\n");
    if (shown_late_ > most_output_) co_return true;
    auto kind = text_of(heard.head, "event");
    co_await late_.show(std::move(kind), std::move(heard.content), std::move(heard.plain));
    co_return true;
}

void kernel_process::stop(sandbox::cause why, std::string reason)
{
    if (stopped_for_ || !alive()) return;
    stopped_for_ = why;
    stop_reason_ = std::move(reason);
    tasks_.cancel_all();
}

awaitable<bool> kernel_process::send(json::object message, std::size_t bytes)
{
    auto work = [message = std::move(message)] { return framed_message(message); };
    auto text = co_await by_size(pool_, owner_, bytes, std::move(work));
    const std::string framed = std::exchange(first_message_, {}) + text;
    auto [failure, sent] = co_await asio::async_write(link_, asio::buffer(framed), as_tuple);
    co_return !failure;
}

bool kernel_process::over(const execution& one) const
{
    return end_ || (one.answer && one.streams[0].ended() && one.streams[1].ended());
}

std::shared_ptr<kernel_process::execution> kernel_process::begin(sandbox::output_receiver* output,
                                                                 json::object& message)
{
    auto one = std::make_shared<execution>(executor_);
    const std::string mark = "\x1e" + random_id() + "\x1e";
    one->id = next_id_++;
    one->output = output;
    for (auto& stream : one->streams) stream.expect(mark);
    message["id"] = one->id;
    message["mark"] = mark;
    current_ = one;
    printed_ = {};
    shown_late_ = 0;
    return one;
}

awaitable<kernel_answer> kernel_process::execute(std::string code, std::string tools, sandbox::output_receiver& output,
                                                 std::chrono::milliseconds limit, kernel_questions answers)
{
    const auto self = shared_from_this();
    const auto bytes = code.size();
    json::object message{{"op", "run"}, {"code", code}, {"tools", tools}};
    late_.listen(nullptr);
    auto late = late_.take();
    const auto one = begin(&output, message);
    auto answer = co_await ask(one, std::move(message), bytes, limit, std::move(answers));
    answer.late_output = std::move(late);
    co_return answer;
}

awaitable<kernel_answer> kernel_process::converse(json::object message, std::size_t bytes, kernel_listener& to,
                                                  std::chrono::milliseconds limit, kernel_questions answers)
{
    const auto self = shared_from_this();
    const bool is_cell = message.contains("notebook");
    const auto one = begin(&to, message);
    one->listener = &to;
    if (is_cell) late_.listen(to.after_the_end());
    had_cell_ = had_cell_ || is_cell;
    auto answer = co_await ask(one, std::move(message), bytes, limit, std::move(answers));
    co_return answer;
}

awaitable<kernel_answer> kernel_process::ask(std::shared_ptr<execution> one, json::object message, std::size_t bytes,
                                             std::chrono::milliseconds limit, kernel_questions answers)
{
    one->answers = std::move(answers);
    auto sending = send(std::move(message), bytes);
    co_await uncancelled(std::move(sending));  // a message is whole or the connection is of no use
    auto answer = co_await answer_to(one, limit);
    co_return answer;
}

awaitable<kernel_answer> kernel_process::answer_to(std::shared_ptr<execution> one, std::chrono::milliseconds limit)
{
    kernel_answer answer;
    bool cancelled = false;
    auto until = clock::now() + limit;
    try {
        for (auto more = limit; more.count() > 0;) {
            while (!over(*one) && (one->question_since || clock::now() < until + one->asking))
                co_await wait_for_change(one, until);
            if (over(*one) || one->output == nullptr) break;
            more = co_await one->output->more_time();
            until = clock::now() + more;
        }
    } catch (const system_error&) {
        cancelled = true;
    }
    // A cancelled coroutine may not await anything, and the code would run on.
    if (cancelled) co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    answer.timed_out = !cancelled && !over(*one);
    if (!over(*one)) {
        auto settling = settle(one);
        co_await uncancelled(std::move(settling));
    }
    auto ending = end_questions(one);
    co_await uncancelled(std::move(ending));
    current_.reset();
    if (cancelled) throw system_error(asio::error::operation_aborted);
    answer.lost = end_.has_value();
    answer.bytes = one->answer_bytes;
    if (one->answer) read_answer(*one->answer, answer);
    co_return answer;
}

awaitable<> kernel_process::settle(std::shared_ptr<execution> one)
{
    interrupt();
    const auto until = clock::now() + (taking_ ? std::chrono::seconds(0) : grace);
    while (!over(*one) && clock::now() < until) co_await changed_.wait(until);
    if (!over(*one)) co_await finish();
}

void kernel_process::interrupt()
{
    if (!alive() || !current_ || taking_ || std::exchange(interrupting_, true)) return;
    struct sender {
        static awaitable<> send(std::shared_ptr<kernel_process> to)
        {
            json::object message{{"op", "interrupt"}};
            co_await to->send(std::move(message));
            to->interrupting_ = false;
        }
    };
    tasks_.spawn("interrupt kernel", sender::send(shared_from_this()));
}

awaitable<> kernel_process::finish(std::string why)
{
    const auto self = shared_from_this();
    if (stop_reason_.empty()) stop_reason_ = std::move(why);
    tasks_.cancel_all();
    boost::system::error_code ignored;
    link_.close(ignored);
    const auto until = clock::now() + kernel_ending_limit;
    while (!end_ && clock::now() < until) co_await changed_.wait(until);
}

}  // namespace cmcp
