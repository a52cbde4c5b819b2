#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "config/upstream_entry.hpp"
#include "sandbox/backend.hpp"
#include "upstream/link_messages.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp {

class sandbox_runner;
struct sandbox_record;

/// The program of an upstream server in its cell, and the messages to and from it: one a line. It ends with finish(),
/// and when it says what no server says. Io thread only.
class stdio_process : public std::enable_shared_from_this<stdio_process> {
public:
    static constexpr std::size_t most_unasked = 64 << 20;  ///< bytes between two answers that are waited for

    /// Everything must outlive this.
    stdio_process(asio::any_io_executor executor, const upstream_entry& entry, sandbox::backend& backend,
                  sandbox_runner& runs);
    ~stdio_process();

    /// Starts the program in the sandbox. `request` has its cell; the channel becomes the program's input and output.
    void start(sandbox_record where, sandbox::run_request request);

    bool alive() const { return started_ && !ended_; }
    void send(std::string message);        ///< in its turn; too many that wait end the program
    event& changed() { return changed_; }  ///< with each message, and at the end
    void stop(std::string why);            ///< ends the program; `why` is the end of a sentence
    awaitable<> finish();                  ///< the same, and waits for that, some seconds at most

    link_messages& messages() { return messages_; }
    const std::string& why_ended() const { return why_; }        ///< the end of a sentence
    const std::string& last_line() const { return last_line_; }  ///< of its standard error, cleaned
    event::clock::time_point began() const { return began_; }
    event::clock::time_point end() const { return end_; }

private:
    class error_lines;

    static awaitable<> run(std::shared_ptr<stdio_process> self, sandbox_record where, sandbox::run_request request);
    static awaitable<> listen(std::shared_ptr<stdio_process> self);
    static awaitable<> write(std::shared_ptr<stdio_process> self);
    awaitable<bool> take(std::string_view bytes);
    awaitable<> take_line(std::string line);
    void note_error_line(std::string_view line);

    const upstream_entry& entry_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    asio::posix::stream_descriptor link_;
    std::unique_ptr<error_lines> errors_;
    link_messages messages_;
    std::deque<std::string> outgoing_;
    std::size_t outgoing_bytes_ = 0;
    std::string partial_;  // of a line
    std::size_t unasked_ = 0;
    std::size_t logged_ = 0;
    bool writing_ = false;
    bool started_ = false;
    bool ended_ = false;
    event::clock::time_point began_, end_;
    std::string why_;
    std::string last_line_;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp
