#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "kernels/late_output.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/terminal_master.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// The end of a command in a shell.
struct command_answer {
    bool lost = false;      ///< the shell ended with it
    bool unusable = false;  ///< it could not be started
    bool timed_out = false;
    bool by_errexit = false;    ///< `set -e` ended it, and the shell goes on
    bool moved_output = false;  ///< `exec` had sent an output elsewhere, until the command's end
    int exit = 0;
    std::string late_output;  ///< on standard output, of jobs since the command before
};

/// A bash in a sandbox that runs one command after the other: folder, variables and functions stay. Commands come to it
/// through a library that stands in for its reader (hold/shell_commands.cpp). It has a terminal only to be interrupted
/// by; the outputs of a command are apart. Who drops one calls finish() first. Io thread only.
class command_shell : public std::enable_shared_from_this<command_shell> {
public:
    command_shell(asio::any_io_executor executor, sandbox::backend& backend);
    ~command_shell();

    /// `request` is complete but for program, terminal and channel. limits.output bounds each stream of a command.
    /// Throws std::system_error.
    void start(sandbox::run_request request);
    bool alive() const { return started_ && !end_; }
    const std::optional<sandbox::run_result>& end() const { return end_; }  ///< nothing while it lives

    /// Runs a command, in `folder` where that is not empty, with `variable` (NAME=VALUE) exported from then on.
    /// At `limit`, unless `output` gives it more time, the command is interrupted, then its programs are killed; a
    /// shell that does not come back is ended. Cancellation does the same. Only one call at a time.
    awaitable<command_answer> execute(std::string command, std::string folder, std::string variable,
                                      sandbox::output_receiver& output, std::chrono::milliseconds limit);

    awaitable<> finish();  ///< ends the shell with its jobs

private:
    class receiver;
    struct execution;

    awaitable<> run(sandbox::run_request request);
    awaitable<> listen();
    awaitable<bool> make_ready();
    void note(std::string_view line);
    awaitable<> send(std::string line);
    awaitable<> settle(std::shared_ptr<execution> one);
    awaitable<> wait_for(std::shared_ptr<execution> one, event::clock::time_point until);
    bool over(const execution& one) const;

    asio::any_io_executor executor_;
    sandbox::backend& backend_;
    asio::posix::stream_descriptor channel_;
    std::optional<sandbox::terminal_master> terminal_;
    std::unique_ptr<receiver> output_;
    std::shared_ptr<execution> current_;
    std::optional<sandbox::run_result> end_;
    event changed_;
    std::uint64_t most_output_ = 0;  // of a stream of a command
    late_output late_;
    bool flooded_ = false;  // a command printed more
    bool started_ = false;
    bool ready_ = false;
    task_group tasks_;
};

}  // namespace cmcp
