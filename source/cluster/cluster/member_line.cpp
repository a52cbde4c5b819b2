#include "cluster/member_line.hpp"

#include "async/with_deadline.hpp"
#include "jsonrpc/read_object.hpp"

#include <boost/system/system_error.hpp>

namespace cmcp {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t longest_answer = 4096;

http_connection::request post_to(const std::string& target)
{
    http_connection::request post(http::verb::post, target, 11);
    post.set(http::field::host, "localhost");
    post.prepare_payload();
    return post;
}

// True: the operation has failed.
bool failed(const error_code& failure)
{
    if (failure == asio::error::operation_aborted) throw boost::system::system_error(failure);
    return static_cast<bool>(failure);
}

}  // namespace

awaitable<std::optional<bool>> member_line::ask(std::string target, std::chrono::milliseconds limit)
{
    std::optional<bool> answer;
    try {
        auto question = ask_twice(std::move(target));
        answer = co_await with_deadline(std::move(question), limit);
    } catch (const deadline_exceeded&) {
    } catch (const member_unreachable&) {
    }
    if (!answer) connection_.reset();
    co_return answer;
}

// A connection that was kept may have ended with the member's last life.
awaitable<std::optional<bool>> member_line::ask_twice(std::string target)
{
    std::optional<bool> answer;
    if (connection_) answer = co_await exchange(target);
    if (answer) co_return answer;
    connection_.reset();
    connection_ = co_await links_->connect(to_);
    answer = co_await exchange(std::move(target));
    co_return answer;
}

awaitable<std::optional<bool>> member_line::exchange(std::string target)
{
    const auto post = post_to(target);
    http_connection::whole_parser answer;
    answer.body_limit(longest_answer);
    const auto failure = co_await connection_->ask(post, answer);
    if (failed(failure) || answer.get().result() != http::status::ok || !answer.keep_alive()) co_return std::nullopt;
    co_return flag_of(jsonrpc::read_object(answer.get().body()), "yes");
}

}  // namespace cmcp
