#include "mcp/tasks/outliving_io.hpp"

#include "jsonrpc/rpc_error.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

// The part of a text that was not there when the call was answered.
void cut_beginning(output_text& text, std::uint64_t end)
{
    const auto overlap = end - std::min(end, text.offset);
    text.text.erase(0, std::min<std::uint64_t>(overlap, text.text.size()));
}

}  // namespace

/// A use of the call, which must not end meanwhile.
class outliving_io::use {
public:
    explicit use(outliving_io& of) : of_(of) { ++of_.uses_; }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use()
    {
        --of_.uses_;
        of_.changed_.notify();
    }

private:
    outliving_io& of_;
};

outliving_io::outliving_io(job_register& jobs, request_io& call, job_maker make)
    : jobs_(jobs), call_(call), make_(std::move(make))
{
    serve(call.request());
}

awaitable<> outliving_io::progress(double progress, std::optional<double> total, std::string message)
{
    if (job_) {
        co_await background_->progress(progress, total, std::move(message));
        co_return;
    }
    const use call(*this);
    co_await call_.progress(progress, total, std::move(message));
}

awaitable<> outliving_io::output(double progress, std::vector<output_text> texts)
{
    if (!job_) {
        const use call(*this);
        co_await call_.output(progress, std::move(texts));
        co_return;
    }
    while (!goes_on_) co_await changed_.wait();
    for (auto& each : texts) cut_beginning(each, each.from == output_stream::out ? sent_.out_size : sent_.err_size);
    co_await background_->output(progress, std::move(texts));
}

awaitable<> outliving_io::log(log_severity level, std::string logger, json::value data)
{
    if (job_) {
        co_await background_->log(level, std::move(logger), std::move(data));
        co_return;
    }
    const use call(*this);
    co_await call_.log(level, std::move(logger), std::move(data));
}

void outliving_io::queued(std::size_t position)
{
    if (job_)
        background_->queued(position);
    else
        call_.queued(position);
}

awaitable<> outliving_io::notify(std::string method, json::object params)
{
    if (job_) co_return;
    const use call(*this);
    co_await call_.notify(std::move(method), std::move(params));
}

awaitable<json::object> outliving_io::ask(std::string key, std::string method, json::object params)
{
    if (job_) {
        auto refused = co_await background_->ask(std::move(key), std::move(method), std::move(params));
        co_return refused;
    }
    const use call(*this);
    auto answer = co_await call_.ask(std::move(key), std::move(method), std::move(params));
    co_return answer;
}

bool outliving_io::can_ask(std::string_view method, const json::object& params) const
{
    return !job_ && call_.can_ask(method, params);
}

awaitable<std::optional<json::object>> outliving_io::ask_meanwhile(std::string key, std::string method,
                                                                   json::object params, std::chrono::milliseconds limit)
{
    if (job_) co_return std::nullopt;  // nobody is there any more who could be asked
    const use call(*this);
    auto answer = co_await call_.ask_meanwhile(std::move(key), std::move(method), std::move(params), limit);
    co_return answer;
}

void outliving_io::close_stream_for_polling()
{
    if (!job_) call_.close_stream_for_polling();
}

std::string outliving_io::become_task(std::string status_message)
{
    return job_ ? request_io::become_task(std::move(status_message)) : call_.become_task(std::move(status_message));
}

// A client that takes tasks gets one; it shows the end of the run as it shows that of any other task.
awaitable<bool> outliving_io::outlive(printed_so_far so_far)
{
    if (call_.takes_task()) {
        try {
            call_.become_task("still running");
            co_return true;
        } catch (const rpc_error&) {
            // there are too many tasks: the call is answered with a job
        }
    }
    while (uses_ != 0) co_await changed_.wait();
    auto background = make_();
    if (!background) co_return false;
    request_io::activity() = std::exchange(call_.activity(), {});
    job_ = std::move(background);
    background_.emplace(jobs_, job_);
    printed_ = so_far.out + so_far.err;
    sent_ = std::move(so_far);
    co_await jobs_.print(job_, printed_);
    goes_on_ = true;
    changed_.notify();
    co_return true;
}

}  // namespace cmcp
