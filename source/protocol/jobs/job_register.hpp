#pragma once

#include "async/blocking_pool.hpp"
#include "async/task_group.hpp"
#include "jobs/job.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "store/record_folder.hpp"
#include "text/handles.hpp"

#include <unordered_map>

namespace cmcp {

/// A job as its owner sees it at one moment.
struct job_view {
    job_record record;
    std::string output{};                 ///< new text since the cursor, whole characters
    std::uint64_t cursor = 0;             ///< to go on from; bytes of the whole output
    bool more = false;                    ///< there is more to read at once
    std::vector<std::string> messages{};  ///< while it runs: the log messages of the job
    std::size_t queue_position = 0;       ///< in the queue; 0: it does not wait
};

/// What a view of a job waits for.
struct job_patience {
    std::chrono::milliseconds longest{0};
    bool until_end = false;  ///< else also until something new was printed and no more came for a moment
};

/// All work in the background: jobs, which the tools of jobs and the tasks of 2026-07-28 show alike. A record is kept
/// in the store and the output in a file, so both can be read after the end and after a restart. A job that runs when
/// the server ends is lost. Io thread only.
class job_register {
public:
    /// Keeps records in memory and no output.
    explicit job_register(asio::any_io_executor executor, handle_maker handles = handle_maker(""));

    /// Keeps them in `folder`. Where no other process uses the folder, jobs that ran are lost from now on. `pool` must
    /// outlive this. Throws database_error, std::system_error.
    job_register(asio::any_io_executor executor, const record_folder& folder, blocking_pool& pool,
                 handle_maker handles);

    /// `record` gets its id and its time. `ends` is cancelled to end the work.
    std::shared_ptr<job> add(job_record record, std::shared_ptr<canceller> ends);
    void drop(const job& unknown);  ///< its owner has not heard of it

    /// Runs the work of a job, which calls one of the ends below as its last act.
    void run(std::string name, awaitable<> work, std::shared_ptr<canceller> ends = nullptr);

    void finish(job& ended, json::object result, std::string_view state = "finished");  ///< a large one a little later
    void fail(job& ended, const rpc_error& error);
    void end(job& cancelled);  ///< without result, by the state of its cancellation

    std::shared_ptr<job> running(const std::string& id) const;  ///< null: has ended, or never was
    std::vector<std::shared_ptr<job>> running() const;          ///< all
    std::size_t running_untimed(std::string_view owner) const;  ///< jobs that are not kept for a time
    std::optional<job_record> find(const std::string& id);      ///< of any owner
    std::vector<job_record> list(const std::string& owner);     ///< newest first, without results
    std::vector<job_record> latest(std::string_view owner, bool of_all, std::size_t most);  ///< the same
    std::vector<std::string> owners() { return store_.owners(now()); }  ///< of jobs that run or have ended
    bool has_any(const std::string& owner) { return store_.has_any(owner, now()); }
    job_usage usage(const std::string& owner) { return store_.usage(owner, now()); }
    std::vector<job_totals> tasks() { return store_.totals(now()); }  ///< jobs that are kept for a time, by owner

    /// Appends to the output and shows the last line.
    awaitable<> print(std::shared_ptr<job> printing, std::string text);

    /// Waits for output behind the cursor or the end of the job, and not beyond `most` bytes of output, which is what
    /// it gives.
    awaitable<job_view> view(job_record record, std::uint64_t cursor, job_patience patience,
                             std::size_t most = 64 * 1024);

    /// The object that the text of a record's result or error is; empty where it is none.
    awaitable<json::object> read(std::string owner, std::string text);

    /// Forgets ended jobs of the owner but the newest `keep`; those that are kept for a time stay.
    void forget_old(const std::string& owner, std::size_t keep) { erase_outputs(store_.forget_old(owner, keep)); }

    /// Called with the id of a job that has ended, or begins or ceases to wait for its owner.
    void on_change(std::function<void(const std::string& id)> listener) { changed_ = std::move(listener); }

    void stop();  ///< ends all jobs: they are lost
    bool stopping() const { return stopping_; }
    awaitable<bool> wait_idle(std::chrono::milliseconds limit) { return works_.wait_idle(limit); }

    static double now();  ///< seconds since 1970

private:
    std::vector<job_record> with_live_states(std::vector<job_record> all) const;
    void settle(job& ended, job_record record);
    awaitable<> keep_large(std::shared_ptr<job> ended, job_record record, json::object result);
    void close(job& ended, job_record record, const std::string& problem);
    void lose_those_of_before();
    void erase_outputs(std::vector<std::string> ids);
    awaitable<> erase(std::vector<std::string> ids);
    void sweep();
    awaitable<> keep_sweeping();
    std::filesystem::path output_of(const std::string& id) const { return folder_ / "jobs" / id; }

    asio::any_io_executor executor_;
    blocking_pool* pool_ = nullptr;  // null: in memory
    std::filesystem::path folder_;
    std::filesystem::path file_;
    job_store store_;
    handle_maker handles_;
    std::unordered_map<std::string, std::shared_ptr<job>> running_;
    std::function<void(const std::string&)> changed_;
    double shortest_keep_ = 0;
    bool sweeping_ = false;
    bool stopping_ = false;
    task_group works_;
    task_group upkeep_;
};

}  // namespace cmcp
