#include "shells/program_streams.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_untold = 256 * 1024;

}  // namespace

program_streams::program_streams(const asio::any_io_executor& executor, unique_fd input)
    : input_(executor, input.release())
{
}

awaitable<> program_streams::receive(sandbox::stream from, std::string_view bytes)
{
    while (output_bytes_ >= most_untold) co_await changed_.wait();
    const auto kind = from == sandbox::stream::out ? message::kind::output : message::kind::errors;
    output_bytes_ += bytes.size();
    output_.push_back({kind, std::string(bytes)});
    changed_.notify();
}

awaitable<program_streams::message> program_streams::next()
{
    while (output_.empty() && taken_ == 0 && !ended_) co_await changed_.wait();
    message news;
    if (!output_.empty()) {
        news = std::move(output_.front());
        output_.pop_front();
        output_bytes_ -= news.bytes.size();
        changed_.notify();
    } else if (!ended_) {
        news.is = message::kind::taken;
        news.taken = std::exchange(taken_, 0);
    }
    co_return news;
}

bool program_streams::feed(std::string bytes)
{
    if (waiting_bytes_ + bytes.size() > window) return false;
    if (!input_.is_open()) return true;  // the program reads no more
    waiting_bytes_ += bytes.size();
    waiting_.push_back(std::move(bytes));
    has_input_.notify();
    return true;
}

void program_streams::end_input()
{
    input_ends_ = true;
    has_input_.notify();
}

awaitable<> program_streams::write_input()
{
    for (;;) {
        while (waiting_.empty() && !input_ends_) co_await has_input_.wait();
        if (waiting_.empty()) break;
        const std::string bytes = std::move(waiting_.front());
        waiting_.pop_front();
        auto [failure, size] = co_await asio::async_write(input_, asio::buffer(bytes), as_tuple);
        if (failure) break;
        waiting_bytes_ -= bytes.size();
        taken_ += bytes.size();
        changed_.notify();
    }
    boost::system::error_code ignored;
    input_.close(ignored);
}

void program_streams::finish(const std::string& problem)
{
    if (!problem.empty()) output_.push_back({message::kind::errors, problem + '\n'});
    output_bytes_ += problem.empty() ? 0 : problem.size() + 1;
    ended_ = true;
    waiting_.clear();
    end_input();
    changed_.notify();
}

}  // namespace cmcp
