#include "mcp/task.hpp"

#include "jsonrpc/write_json.hpp"
#include "text/timestamp.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

constexpr std::int64_t poll_interval_ms = 1000;
constexpr std::size_t longest_message = 200;
constexpr std::array<std::string_view, 5> status_names{"working", "input_required", "completed", "failed", "cancelled"};

std::string_view to_string(task::status value) { return status_names[static_cast<std::size_t>(value)]; }

// The last line with something in it, cut where a character begins.
std::string_view last_line(std::string_view text)
{
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    text = text.substr(text.find_last_of("\r\n") + 1);
    if (text.size() <= longest_message) return text;
    std::size_t length = longest_message;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
    return text.substr(0, length);
}

json::object error_object(const rpc_error& error)
{
    json::object described;
    described["code"] = error.code;
    described["message"] = error.what();
    if (error.data) described["data"] = *error.data;
    return described;
}

}  // namespace

task::task(asio::any_io_executor executor, std::string id, std::string owner, milliseconds ttl,
           std::shared_ptr<running_request> work, std::function<void(const task&)> changed)
    : id_(std::move(id)),
      owner_(std::move(owner)),
      keep_(ttl),
      ttl_(ttl),
      work_(std::move(work)),
      changed_(std::move(changed)),
      news_(std::move(executor), asio::steady_timer::time_point::max())
{
}

json::object task::describe() const
{
    json::object described;
    described["taskId"] = id_;
    described["status"] = to_string(status_);
    if (!message_.empty()) described["statusMessage"] = message_;
    described["createdAt"] = timestamp(created_);
    described["lastUpdatedAt"] = timestamp(updated_);
    described["ttlMs"] = ttl_.count();
    described["pollIntervalMs"] = poll_interval_ms;
    return described;
}

json::object task::detail() const
{
    auto described = describe();
    if (status_ == status::input_required) described["inputRequests"] = open_questions();
    if (status_ == status::completed) described["result"] = result_;
    if (status_ == status::failed) described["error"] = error_object(*error_);
    return described;
}

void task::say(std::string_view message)
{
    if (ended()) return;
    if (const auto line = last_line(message); !line.empty()) message_ = line;
    touch();
}

void task::show(std::string_view printed)
{
    line_ += printed;
    say(line_);
    line_.erase(0, line_.find_last_of("\r\n") + 1);
    line_.resize(last_line(line_).empty() ? 0 : std::min(line_.size(), longest_message + 1));
}

std::string task::unused_key(std::string key)
{
    if (!questions_.contains(key)) return key;
    int number = 2;
    while (questions_.contains(key + "-" + std::to_string(number))) ++number;
    return key + "-" + std::to_string(number);
}

json::object task::open_questions() const
{
    json::object open;
    for (const auto& [key, asked] : questions_)
        if (!asked.answer) open[key] = asked.request;
    return open;
}

awaitable<json::object> task::ask(json::object questions)
{
    std::map<std::string, std::string> keys;
    for (auto& member : questions) {
        auto key = unused_key(std::string(member.key()));
        questions_[key].request = std::move(member.value().as_object());
        keys.emplace(member.key(), std::move(key));
        ++open_;
    }
    change(status::input_required);
    json::object answers;
    for (const auto& [asked, key] : keys) {
        co_await wait_for_answer(key);
        answers[asked] = std::move(*questions_.at(key).answer);
        questions_.at(key).answer = nullptr;
    }
    co_return answers;
}

awaitable<> task::wait_for_answer(std::string key)
{
    while (!answered(key)) {
        co_await news_.async_wait(as_tuple);
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }
}

void task::answer(const json::object& responses)
{
    if (ended()) return;
    const auto open_before = open_;
    for (const auto& member : responses) {
        const auto asked = questions_.find(std::string(member.key()));
        if (asked == questions_.end() || asked->second.answer) continue;
        asked->second.answer = member.value().as_object();
        asked->second.request.clear();
        --open_;
    }
    if (open_ == open_before) return;
    if (open_ == 0)
        change(status::working);
    else
        touch();
    news_.cancel();
}

void task::change(status next)
{
    touch();
    if (next == status_) return;
    status_ = next;
    changed_(*this);
}

void task::keep_from_now()
{
    const auto passed = std::chrono::steady_clock::now() - born_;
    ttl_ = std::chrono::duration_cast<milliseconds>(passed) + keep_;
}

void task::cancel(std::string_view reason)
{
    if (ended()) return;
    message_ = reason;
    touch();
    // The work lets go of its last reference to itself when it ends.
    const auto kept = work_;
    if (kept) kept->cancel();
}

void task::settle(outcome done)
{
    keep_from_now();
    work_.reset();
    questions_.clear();
    message_ = done.result ? std::string() : message_;
    if (done.result) {
        result_ = std::move(*done.result);
        if (!result_.contains("resultType")) result_["resultType"] = "complete";
        bytes_ = jsonrpc::write_json(result_).size();
        return change(status::completed);
    }
    if (expired_ && !done.error)
        done.error = std::make_unique<rpc_error>(rpc_code::server_error,
                                                 "the client did not answer the task's questions in time");
    if (!done.error) return change(status::cancelled);
    error_ = std::move(*done.error);
    message_ = error_->what();
    change(status::failed);
}

bool task::expire()
{
    if (ended()) return true;
    if (status_ == status::input_required) {
        expired_ = true;
        cancel("the client did not answer in time");
    }
    keep_from_now();
    return false;
}

}  // namespace cmcp
