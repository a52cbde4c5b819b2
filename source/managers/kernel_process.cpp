#include "managers/kernel_process.hpp"

#include "async/uncancelled.hpp"
#include "jsonrpc/write_json.hpp"
#include "managers/marked_stream.hpp"
#include "posix/random_id.hpp"
#include "posix/unique_fd.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace cmcp {

using boost::system::system_error;
using clock = news::clock;

namespace {

constexpr std::size_t longest_message = 8 << 20;        // what the code in the kernel can make the server hold
constexpr auto grace = std::chrono::seconds(3);         // for code that was interrupted
constexpr auto ending_limit = std::chrono::seconds(5);

json::object parse(const std::string& text)
{
    json::parse_options limits;
    limits.max_depth = 256;
    json::error_code failure;
    json::value parsed = json::parse(text, failure, {}, limits);
    return !failure && parsed.is_object() ? std::move(parsed.as_object()) : json::object();
}

}  // namespace

struct kernel_process::execution {
    std::uint64_t id = 0;
    sandbox::output_receiver* output = nullptr;
    std::array<marked_stream, 2> streams;
    std::optional<json::object> answer;
};

/// Gives what the process prints to the code that runs; what nobody runs for is dropped.
class kernel_process::receiver final : public sandbox::output_receiver {
public:
    explicit receiver(kernel_process& of) : of_(of) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override
    {
        const auto one = of_.current_;
        if (!one) co_return;
        auto& stream = one->streams[from == sandbox::stream::out ? 0 : 1];
        const std::string text = stream.put(bytes);
        if (!text.empty()) co_await one->output->receive(from, text);
        stream.delivered();
        of_.changed_.tell();
    }

private:
    kernel_process& of_;
};

kernel_process::kernel_process(asio::any_io_executor executor, sandbox::backend& backend)
    : executor_(executor),
      backend_(backend),
      link_(executor),
      changed_(executor),
      output_(std::make_unique<receiver>(*this)),
      tasks_(executor)
{
}

kernel_process::~kernel_process() = default;

void kernel_process::start(sandbox::run_request request)
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    request.channel = std::make_shared<unique_fd>(ends[1]);
    link_.assign(ends[0]);
    started_ = true;
    tasks_.spawn("kernel", run(std::move(request)));
    tasks_.spawn("kernel answers", listen());
}

// Keeps itself alive: whoever lets go of a kernel ends it by finish().
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
    end_ = std::move(ended);
    boost::system::error_code ignored;
    link_.close(ignored);
    changed_.tell();
}

awaitable<std::optional<std::string>> kernel_process::read_message()
{
    std::array<unsigned char, 4> head{};
    auto [failure, got] = co_await asio::async_read(link_, asio::buffer(head), as_tuple);
    if (failure) co_return std::nullopt;
    const std::size_t size =
        std::size_t{head[0]} << 24 | std::size_t{head[1]} << 16 | std::size_t{head[2]} << 8 | head[3];
    if (size > longest_message) co_return std::nullopt;
    std::string text(size, '\0');
    auto [late_failure, rest] = co_await asio::async_read(link_, asio::buffer(text), as_tuple);
    if (late_failure) co_return std::nullopt;
    co_return text;
}

awaitable<> kernel_process::listen()
{
    const auto self = shared_from_this();
    for (;;) {
        const auto text = co_await read_message();
        if (!text) break;
        take(*text);
    }
    // Without its socket it can do nothing more; closing ours ends it.
    boost::system::error_code ignored;
    link_.close(ignored);
}

void kernel_process::take(const std::string& text)
{
    auto message = parse(text);
    const auto* id = message.if_contains("id");
    if (!current_ || id == nullptr || !id->is_number() || id->to_number<double>() != static_cast<double>(current_->id))
        return;
    current_->answer = std::move(message);
    changed_.tell();
}

awaitable<bool> kernel_process::send(json::object message)
{
    const std::string text = jsonrpc::write_json(message);
    const auto size = text.size();
    std::string framed{static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                       static_cast<char>(size)};
    framed += text;
    auto [failure, sent] = co_await asio::async_write(link_, asio::buffer(framed), as_tuple);
    co_return !failure;
}

bool kernel_process::over(const execution& one) const
{
    return end_ || (one.answer && one.streams[0].ended() && one.streams[1].ended());
}

awaitable<kernel_answer> kernel_process::execute(std::string code, sandbox::output_receiver& output,
                                                 std::chrono::milliseconds limit)
{
    const auto self = shared_from_this();
    const auto one = std::make_shared<execution>();
    const std::string mark = "\x1e" + random_id() + "\x1e";
    one->id = next_id_++;
    one->output = &output;
    for (auto& stream : one->streams) stream.expect(mark);
    current_ = one;
    kernel_answer made;
    bool cancelled = false;
    const auto until = clock::now() + limit;
    json::object message{{"op", "run"}, {"id", one->id}, {"code", code}, {"mark", mark}};
    auto sending = send(std::move(message));
    co_await uncancelled(std::move(sending));       // a message is whole or the connection is of no use
    try {
        while (!over(*one) && clock::now() < until) co_await changed_.wait(until);
    } catch (const system_error&) {
        cancelled = true;
    }
    made.timed_out = !cancelled && !over(*one);
    if (!over(*one)) {
        auto settling = settle(one);
        co_await uncancelled(std::move(settling));
    }
    current_.reset();
    if (cancelled) throw system_error(asio::error::operation_aborted);
    made.lost = end_.has_value();
    if (!one->answer) co_return made;
    if (const auto* exit = one->answer->if_contains("exit"); exit != nullptr && exit->is_int64())
        made.exit = static_cast<int>(exit->get_int64());
    if (const auto* value = one->answer->if_contains("result")) made.result = *value;
    co_return made;
}

awaitable<> kernel_process::settle(std::shared_ptr<execution> one)
{
    interrupt();
    const auto until = clock::now() + grace;
    while (!over(*one) && clock::now() < until) co_await changed_.wait(until);
    if (!over(*one)) co_await finish();
}

void kernel_process::interrupt()
{
    if (!alive() || !current_) return;
    struct sender {
        static awaitable<> send(std::shared_ptr<kernel_process> to)
        {
            json::object message{{"op", "interrupt"}};
            co_await to->send(std::move(message));
        }
    };
    tasks_.spawn("interrupt kernel", sender::send(shared_from_this()));
}

awaitable<> kernel_process::finish()
{
    const auto self = shared_from_this();
    tasks_.cancel_all();
    boost::system::error_code ignored;
    link_.close(ignored);
    const auto until = clock::now() + ending_limit;
    while (!end_ && clock::now() < until) co_await changed_.wait(until);
}

}  // namespace cmcp
