#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "mcp/tool.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// What a job is, for its record.
struct new_job {
    std::string sandbox{};  ///< id; empty: the caller's workspace
    std::string tool;
    std::string label;      ///< what runs; its beginning is kept
    std::string request{};  ///< the id of the request that begins it, for the log
};

/// A job as its owner sees it at one moment.
struct job_view {
    job_record record;
    std::string output;                   ///< new text since the cursor, whole characters
    std::uint64_t cursor = 0;             ///< to go on from; bytes of the whole output
    bool more = false;                    ///< there is more to read at once
    std::vector<std::string> messages{};  ///< while it runs: what its caller would have been told in log messages
};

/// Runs that outlive the request that began them. Their output is kept in a file, their result in the store: both can
/// be read after the end, also after a restart; a job that runs when the server ends is lost. Throws sandbox_error. Io
/// thread only.
class job_manager {
public:
    /// What a job does; given where its progress goes, returns what the tool would have answered.
    using work = std::function<awaitable<tool_result>(request_io& io)>;

    job_manager(const settings& chosen, asio::any_io_executor executor, sandbox_manager& sandboxes,
                blocking_pool& pool);
    job_manager(const job_manager&) = delete;
    job_manager& operator=(const job_manager&) = delete;
    ~job_manager();

    awaitable<job_record> start(caller who, new_job what, work begins);

    /// Waits up to `wait` for text behind the cursor or the end of the job.
    awaitable<job_view> poll(caller who, std::string id, std::uint64_t cursor, std::chrono::milliseconds wait);
    std::vector<job_record> list(const caller& who) { return sandboxes_.store().jobs(who.principal); }

    /// Ends it and waits until it has ended; one that had ended stays as it is.
    awaitable<job_record> kill(caller who, std::string id);

    awaitable<> stop();  ///< ends all, at the end of the server

    /// Called when a job has ended.
    void on_end(std::function<void(const job_record&)> listener) { ended_ = std::move(listener); }

private:
    struct job;
    class job_io;

    job_record owned(const caller& who, const std::string& id);
    awaitable<> run(std::shared_ptr<job> one, work begins);
    static void log_job_end(const job& one, const tool_result& result);
    awaitable<> finish(std::shared_ptr<job> one, std::string state, tool_result result);
    awaitable<> forget_old(std::string owner);
    std::size_t running(const std::string& owner) const;

    const settings& chosen_;
    asio::any_io_executor executor_;
    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
    std::map<std::string, std::shared_ptr<job>> live_;
    std::function<void(const job_record&)> ended_;
    task_group tasks_;
};

}  // namespace cmcp
