#pragma once

#include "async/canceller.hpp"
#include "async/event.hpp"
#include "jsonrpc/json.hpp"
#include "store/job_store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The beginning of a text, for job_record::label.
std::string job_label(const std::string& text);

/// A job while it runs: its record, what it says and asks. job_register makes and ends it. Io thread only.
class job : public std::enable_shared_from_this<job> {
public:
    /// `ends` is what cancel() cancels. `changed` is called when the job begins or ceases to wait for its owner.
    job(job_record record, std::shared_ptr<canceller> ends, std::function<void(const std::string& id)> changed);

    const job_record& record() const { return record_; }
    bool ended() const { return record_.ended != 0; }
    std::chrono::system_clock::time_point updated() const { return updated_; }
    std::uint64_t output_size() const { return output_size_; }     ///< bytes that are stored
    event::clock::time_point printed() const { return printed_; }  ///< when the latest of them came
    const std::vector<std::string>& notes() const { return notes_; }
    const std::string& newest() const { return newest_; }  ///< the end of its output

    void say(std::string_view message);   ///< the record's message: the last line of a text that has one
    void show(std::string_view printed);  ///< the same for the next piece of an output, which may go on within a line
    void note(std::string message);       ///< the same, and the message is listed; only the latest ones stay

    void keep_latest(std::uint64_t bytes) { kept_output_ = bytes; }  ///< about so much of its output, where disks can

    /// The job waits for its turn at this position of the queue, and its state is "queued"; 0: it runs.
    void queue(std::size_t position);
    std::size_t queue_position() const { return queue_position_; }
    bool decided() const { return decided_; }  ///< whether it runs or waits

    /// Asks the owner several things ({key: {method, params}}); returns the answers by the same keys. The owner sees a
    /// key that was used before with a number, because keys are unique over a job's life.
    /// Nothing when they were not all answered before `limit`; they are taken back then, as when the coroutine ends.
    awaitable<std::optional<json::object>> ask(json::object requests,
                                               event::clock::time_point limit = event::clock::time_point::max());

    /// Takes the owner's answers, which are objects; those to no open request are ignored (SEP-2663).
    void answer(const json::object& responses);

    bool waits_for_owner() const { return open_ != 0; }
    json::object open_input_requests() const;

    /// Ends the work. `state` and `reason` are the record's when the work ends without result or error; the first
    /// cancellation decides.
    void cancel(std::string_view state, std::string_view reason);
    const std::string& cancelled_as() const { return cancelled_as_; }  ///< a state; empty: not cancelled

    /// Until something has been printed, noted, asked or answered, or the job has ended; at most until `limit`.
    awaitable<bool> wait(event::clock::time_point limit = event::clock::time_point::max())
    {
        return event_.wait(limit);
    }

private:
    friend class job_register;

    struct input_request {
        json::object request;
        std::optional<json::value> answer;
    };

    struct open_round;

    std::string unused_key(std::string key);
    void close(input_request& of, json::value answer);
    bool answered(const std::string& key) const { return input_requests_.at(key).answer.has_value(); }
    void end(job_record record);
    void touch() { updated_ = std::chrono::system_clock::now(); }

    job_record record_;
    std::shared_ptr<canceller> ends_;
    std::function<void(const std::string&)> changed_;
    std::chrono::system_clock::time_point updated_ = std::chrono::system_clock::now();
    std::chrono::steady_clock::time_point asked_{};  // the latest request
    std::string cancelled_as_;
    std::string line_;  // the beginning of the output's last line
    std::string newest_;
    std::vector<std::string> notes_;
    std::map<std::string, input_request> input_requests_;  // every key that was ever used
    std::size_t open_ = 0;
    std::uint64_t output_size_ = 0;
    std::uint64_t kept_output_ = 0;  // 0: all
    event::clock::time_point printed_{};
    std::size_t queue_position_ = 0;  // in the queue
    bool decided_ = false;
    event event_;
};

}  // namespace cmcp
