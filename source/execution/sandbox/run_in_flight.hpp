#pragma once

#include "async/event.hpp"
#include "posix/unique_fd.hpp"
#include "sandbox/launcher_link.hpp"
#include "sandbox/output_receiver.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::sandbox {

/// The reading end of a pipe from a run.
class run_stream {
public:
    /// Makes the pipe; returns the writing end by `write_end`. Throws std::system_error.
    run_stream(const asio::any_io_executor& executor, unique_fd& write_end);

    /// The next piece, at most `limit` bytes, waiting for it. Nothing: the pipe is at its end, the run is over and the
    /// pipe is empty, or the wait was cancelled.
    awaitable<std::string> read(std::size_t limit);

    /// The run is over: the rest of the pipe is still read, but nobody will write more.
    void run_ended();

private:
    asio::posix::stream_descriptor pipe_;
    std::size_t in_a_row_ = 0;  // bytes, and some for each read, since others had their turn
    bool ended_ = false;
};

/// Everything the server keeps of one run while it is in flight. Its end, whichever it is, ends the run.
class run_in_flight {
public:
    /// Hands the run to the launcher. Throws std::system_error.
    run_in_flight(std::shared_ptr<native_backend::link> link, const run_request& request, output_receiver& output,
                  bool probe);
    run_in_flight(const run_in_flight&) = delete;
    run_in_flight& operator=(const run_in_flight&) = delete;
    ~run_in_flight();

    void kill(cause why);

    /// Hands a stream's bytes to the receiver until its end. After the run's limit they are thrown away, and the run is
    /// ended. An exception of the receiver ends the run, too, and is passed on.
    awaitable<> pump_output(stream name);
    awaitable<> collect_result();
    awaitable<> wait_for_end();

    run_result take_result();  ///< after its end

private:
    awaitable<> pump(run_stream& from, stream name);
    void send_start(const run_request& request, bool probe);

    std::shared_ptr<native_backend::link> link_;
    output_receiver& output_;
    std::uint64_t id_;
    std::uint64_t limit_;
    bool may_precede_doors_;  ///< its output, where it is read before the launcher's word of its cell
    unique_fd out_end_, err_end_, result_end_;
    run_stream out_, err_;
    std::optional<run_stream> result_;
    std::shared_ptr<pending_run> pending_;
    std::string text_;
    std::optional<cause> killed_for_;
    event::clock::time_point asks_at_ = event::clock::time_point::max();
};

}  // namespace cmcp::sandbox
