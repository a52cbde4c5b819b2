#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "jsonrpc/json.hpp"
#include "kernels/late_output.hpp"
#include "sandbox/backend.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// The answer of a kernel when a piece of code has ended.
struct kernel_answer {
    kernel_answer() = default;
    kernel_answer(kernel_answer&&) = default;
    kernel_answer& operator=(kernel_answer&& other) noexcept
    {
        // Member by member the values would be copied out of the memory that they live in.
        if (this == &other) return *this;
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~kernel_answer() = default;

    bool ok = false;    ///< the code ended without an error
    bool lost = false;  ///< the kernel ended with it
    bool timed_out = false;
    int exit = 0;
    std::optional<json::value> result;      ///< value of the last expression
    bool result_is_repr = false;            ///< its repr(), because JSON would not give the value back
    std::string late_output;                ///< what was printed since the call before
    std::vector<std::string> left_running;  ///< processes that interrupted code has left in groups of their own
    json::array displays;                   ///< that it showed
    std::chrono::microseconds cpu{0};       ///< of this call
    std::uint64_t peak_memory = 0;          ///< bytes, of the kernel's own process
    json::object state;                     ///< the answer of converse(), give() and take() (kernel_program.cpp)
    std::string reason;                     ///< why they failed
    json::object
        earlier;  ///< of the first call: {"kept", "variables", "left_out", "reason"} of the kernel before this one
    std::size_t bytes = 0;  ///< of the message that all this came in
};

/// Takes what a notebook's cell shows, in its order with what it prints, and what it asks the person before it.
class kernel_listener : public sandbox::output_receiver {
public:
    /// `kind` and `content` as those of a message on Jupyter's iopub channel; the latter is the text of a JSON object.
    virtual awaitable<> show(std::string kind, std::string content) = 0;

    /// Takes what the code still prints and shows when the cell has ended; null: nobody does.
    virtual std::shared_ptr<kernel_listener> after_the_end() { return {}; }

    /// {"input": prompt, "password"} → {"value"}, or {"problem"}: why nobody has answered.
    virtual awaitable<json::object> ask(json::object question) = 0;
};

/// Answers what code in a kernel asks the server (kernel_program.cpp).
using kernel_questions = std::function<awaitable<json::object>(json::object question)>;

/// A Python interpreter in a sandbox that runs one piece of code after the other. A process that sends what no call
/// awaits, or more than an answer has, is ended before the server parses it; long messages are parsed and written on
/// the pool. Io thread only.
class kernel_process : public std::enable_shared_from_this<kernel_process> {
public:
    /// `request` is complete but for its channel. Throws std::system_error.
    kernel_process(asio::any_io_executor executor, sandbox::backend& backend, blocking_pool& pool, std::string owner);
    ~kernel_process();

    /// limits.output bounds each stream from one call to the next.
    void start(sandbox::run_request request, const json::object& first_message);
    bool alive() const { return started_ && !end_; }

    /// How the process ended; nothing while it lives.
    const std::optional<sandbox::run_result>& end() const { return end_; }

    /// Runs code, which may call tools by the ticket `tools`, if any; its output goes to `output`. At `limit` the code
    /// is interrupted, unless `output` gives it more time; a kernel that does not react is ended. Cancellation does the
    /// same. Only one call at a time. The time of an installation does not count, and no question is answered any more
    /// when this returns.
    awaitable<kernel_answer> execute(std::string code, std::string tools, sandbox::output_receiver& output,
                                     std::chrono::milliseconds limit, kernel_questions answers);

    /// A notebook's cell ("run" with "notebook") or a question ("look", kernel_program.cpp), of about `bytes`. Limit
    /// and cancellation as for execute().
    awaitable<kernel_answer> converse(json::object message, std::size_t bytes, kernel_listener& to,
                                      std::chrono::milliseconds limit, kernel_questions answers);

    /// Sends the interpreter's state, but for the variables of these names, to a kernel that takes it at the same time.
    /// Limit and cancellation as for execute().
    awaitable<kernel_answer> give(std::shared_ptr<kernel_process> to, json::array left_out,
                                  std::chrono::milliseconds limit);

    /// Takes the state that another kernel gives. At the limit and when cancelled this kernel is ended.
    awaitable<kernel_answer> take(std::chrono::milliseconds limit);

    /// Writes the interpreter's state to a file of the workspace, for the kernel that comes after this one, at most so
    /// many bytes. Limit and cancellation as for execute().
    awaitable<kernel_answer> keep(std::uint64_t most, std::chrono::milliseconds limit);

    std::uint64_t bytes_sent() const { return bytes_sent_; }  ///< by the last give()

    /// Output outside of calls that nobody has been given; the process that follows this one takes it over.
    late_output& late() { return late_; }

    void interrupt();                          ///< the code that runs, if any; variables stay
    awaitable<> finish(std::string why = {});  ///< ends the process; `why`: a sentence's part behind "because"

private:
    class receiver;
    struct execution;
    struct heard_message;

    awaitable<> run(sandbox::run_request request);
    awaitable<> listen();
    std::shared_ptr<execution> begin(sandbox::output_receiver* output, json::object& message);
    awaitable<kernel_answer> ask(std::shared_ptr<execution> one, json::object message, std::size_t bytes,
                                 std::chrono::milliseconds limit, kernel_questions answers);
    awaitable<kernel_answer> answer_to(std::shared_ptr<execution> one, std::chrono::milliseconds limit);
    awaitable<> wait_for_change(std::shared_ptr<execution> one, event::clock::time_point until);
    bool begin_question(json::object message);
    static awaitable<> reply(std::shared_ptr<kernel_process> self, std::shared_ptr<execution> one,
                             json::object message);
    awaitable<> end_questions(std::shared_ptr<execution> one);
    awaitable<> settle(std::shared_ptr<execution> one);
    awaitable<bool> pass_on(std::string head, std::size_t size);
    awaitable<bool> put_piece(std::string_view bytes);
    awaitable<bool> send(json::object message, std::size_t bytes = 0);
    awaitable<bool> read_message();
    std::size_t longest_message() const;
    bool awaits_message() const;
    bool answers_call(const json::object& message) const;
    awaitable<heard_message> read_body(std::size_t size);
    awaitable<bool> note(heard_message heard);
    awaitable<bool> pass_on_event(heard_message heard);
    awaitable<bool> pass_on_late(std::size_t size);
    void stop(sandbox::cause why, std::string reason);
    bool over(const execution& one) const;

    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    blocking_pool& pool_;
    std::string owner_;
    asio::posix::stream_descriptor link_;
    event changed_;
    std::unique_ptr<receiver> output_;
    std::shared_ptr<execution> current_;
    std::optional<sandbox::run_result> end_;
    std::string first_message_;  // framed; goes with the first call
    std::uint64_t next_id_ = 1;
    bool started_ = false;
    late_output late_;
    std::uint64_t most_output_ = 0;           // of a stream, from call to call
    std::array<std::uint64_t, 2> printed_{};  // since the latest call began
    std::uint64_t shown_late_ = 0;            // bytes, as well
    bool had_cell_ = false;                   // whose threads may show what no call awaits
    std::optional<sandbox::cause> stopped_for_;
    std::string stop_reason_;
    std::shared_ptr<kernel_process> receiver_;  // of the state, while it is given
    std::uint64_t bytes_sent_ = 0;
    bool interrupting_ = false;  // one is on its way, which is enough
    bool taking_ = false;        // the link carries state, no messages
    task_group tasks_;
};

}  // namespace cmcp
