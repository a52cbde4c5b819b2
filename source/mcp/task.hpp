#pragma once

#include "async/asio.hpp"
#include "mcp/running_request.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// A call that goes on after its request was answered (SEP-2663): its state, its open questions, at last its result.
class task {
public:
    using milliseconds = std::chrono::milliseconds;
    enum class status { working, input_required, completed, failed, cancelled };

    /// `work` is what cancel() ends. `ttl`: how long the task is kept after its creation and again after its end.
    /// `changed` is called when the status has changed.
    task(asio::any_io_executor executor, std::string id, std::string owner, milliseconds ttl,
         std::shared_ptr<running_request> work, std::function<void(const task&)> changed);

    const std::string& id() const { return id_; }
    const std::string& owner() const { return owner_; }  ///< the caller's principal
    status state() const { return status_; }
    bool ended() const { return status_ >= status::completed; }

    json::object describe() const;                ///< `Task`
    json::object detail() const;                  ///< `DetailedTask`: with inputRequests, result or error
    std::size_t bytes() const { return bytes_; }  ///< of the result, as JSON

    void say(std::string_view message);   ///< the status message: the last line of a text that has one
    void show(std::string_view printed);  ///< the same for the next piece of an output, which may go on within a line

    /// Asks the client several things ({key: {method, params}}); returns the answers by the same keys. On the wire a
    /// key that was used before gets a number, because keys are unique over a task's life.
    awaitable<json::object> ask(json::object questions);

    /// Takes the client's answers, which are objects; those to no open question are ignored (SEP-2663).
    void answer(const json::object& responses);

    void cancel(std::string_view reason);
    void settle(outcome done);  ///< the work has ended

    /// Called when expires() has passed. A task that waits for the client ends; one that works is kept on. Returns true
    /// when it may be forgotten.
    bool expire();
    std::chrono::steady_clock::time_point expires() const { return born_ + ttl_; }

private:
    struct question {
        json::object request;
        std::optional<json::value> answer;
    };

    std::string unused_key(std::string key);
    bool answered(const std::string& key) const { return questions_.at(key).answer.has_value(); }
    json::object open_questions() const;
    awaitable<> wait_for_answer(std::string key);
    void change(status next);
    void touch() { updated_ = std::chrono::system_clock::now(); }
    void keep_from_now();

    std::string id_;
    std::string owner_;
    milliseconds keep_;
    milliseconds ttl_;
    std::shared_ptr<running_request> work_;
    std::function<void(const task&)> changed_;
    std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
    std::chrono::system_clock::time_point created_ = std::chrono::system_clock::now();
    std::chrono::system_clock::time_point updated_ = created_;
    status status_ = status::working;
    std::string message_;
    std::string line_;                           // of an output, not ended yet: its beginning
    std::map<std::string, question> questions_;  // every key that was ever used
    std::size_t open_ = 0;
    asio::steady_timer news_;  // cancelled when an answer has come
    bool expired_ = false;
    json::object result_;
    std::optional<rpc_error> error_;
    std::size_t bytes_ = 0;
};

}  // namespace cmcp
