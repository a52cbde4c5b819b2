#pragma once

#include "sandbox/launcher_link.hpp"
#include "sandbox/run_streams.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::sandbox {

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

    awaitable<> pump_output(stream name);  ///< an exception of the receiver ends the run, and is passed on
    awaitable<> collect_result();
    awaitable<> wait_for_end();

    run_result take_result();  ///< after its end

private:
    void send_start(const run_request& request, bool probe);

    std::shared_ptr<native_backend::link> link_;
    output_receiver& output_;
    std::uint64_t id_;
    std::uint64_t limit_;
    unique_fd out_end_, err_end_, result_end_;
    run_stream out_, err_;
    std::optional<run_stream> result_;
    std::shared_ptr<pending_run> pending_;
    std::string text_;
    std::optional<cause> killed_for_;
    std::function<void()> exceeded_ = [this] { kill(cause::output_limit); };
};

}  // namespace cmcp::sandbox
