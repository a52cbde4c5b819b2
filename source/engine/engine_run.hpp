#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "engine/container_spec.hpp"
#include "sandbox/output_receiver.hpp"
#include "wire/run_result.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace cmcp::engine {

/// A run in a container that is made for it, started, read, ended and removed. A container for each run, and not one
/// for a sandbox with an `exec` for each run, because the engine can then kill all of a run's processes, bound them by
/// limits of their own and say that memory was what ended it; an exec can neither be killed nor limited by itself. Io
/// thread only.
class engine_run : public std::enable_shared_from_this<engine_run> {
public:
    /// All but `request` must outlive the run.
    engine_run(asio::any_io_executor executor, engine_client& client, const engine_options& options,
               blocking_pool& pool, sandbox::run_request request, sandbox::output_receiver& output);

    /// From the container's making to its end; throws engine_error, std::system_error, and what the receiver throws.
    /// Not to be cancelled but by end().
    awaitable<sandbox::run_result> perform(container_user user, image_facts image);

    /// Kills what runs; the first reason counts.
    void end(sandbox::cause why, std::string detail = {});

    /// Removes the container and what it was handed; after perform().
    awaitable<> clean_up();

    const sandbox::run_request& request() const { return request_; }

private:
    using clock = event::clock;

    awaitable<> prepare(container_user user);
    awaitable<int> live(std::unique_ptr<engine_connection> stream);
    awaitable<> pump(engine_connection& stream);
    awaitable<> hand_over(sandbox::stream from, std::string_view bytes);
    awaitable<> watch();
    awaitable<> kill();
    awaitable<> measure();
    awaitable<sandbox::run_result> describe(int exit_code);
    void begin_bridge();

    asio::any_io_executor executor_;
    engine_client& client_;
    const engine_options& chosen_;
    blocking_pool& pool_;
    sandbox::run_request request_;
    sandbox::output_receiver& output_;
    std::shared_ptr<exchange_folder> exchange_;
    std::shared_ptr<channel_bridge> bridge_;
    std::string container_;
    std::optional<uid_t> owner_;
    std::optional<sandbox::cause> wish_;
    std::string detail_;
    bool over_ = false;
    std::uint64_t received_[2] = {0, 0};
    std::uint64_t peak_memory_ = 0;
    clock::time_point began_{};
    clock::time_point deadline_ = clock::time_point::max();
    clock::time_point measure_at_{};
    asio::cancellation_signal stop_reading_;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp::engine
