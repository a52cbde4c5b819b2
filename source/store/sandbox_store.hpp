#pragma once

#include "posix/unique_fd.hpp"
#include "store/database.hpp"
#include "store/sandbox_record.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The records of sandboxes, their packages, snapshots and jobs in one SQLite file. It is the only truth: nothing is
/// kept in memory, several processes may use the same file. Every call is one statement or one transaction, takes some
/// ten microseconds and never waits for the disk (checkpoint() does, and belongs on another thread). Throws
/// database_error.
class sandbox_store {
public:
    /// Opens or makes `folder`/sandboxes.sqlite. `alone()` tells whether no other process has it open.
    explicit sandbox_store(const std::filesystem::path& folder);

    /// True until share() when this process is the only one: then what is not in the store is a leftover.
    bool alone() const { return alone_; }
    void share();  ///< lets other processes in

    void insert(const sandbox_record& made);  ///< throws database_conflict when the owner has that name
    std::optional<sandbox_record> find(std::string_view owner, std::string_view id);
    std::optional<sandbox_record> find_by_name(std::string_view owner, std::string_view name);
    /// The one made last. `session` empty: of all that were made without a session; `any_session`: of all.
    std::optional<sandbox_record> latest(std::string_view owner, std::string_view session, bool any_session);
    std::vector<sandbox_record> list(std::string_view owner);  ///< oldest first
    std::vector<sandbox_record> all();
    std::size_t count(std::string_view owner);
    std::uint64_t disk(std::string_view owner);  ///< bytes of all sandboxes and snapshots of the owner

    void touch(std::string_view id, double now);  ///< used now; a stopped one is running again
    void set_status(std::string_view id, std::string_view status);
    void set_disk(std::string_view id, std::uint64_t bytes);
    void set_packages(std::string_view id, const std::map<std::string, std::string>& versions);
    std::map<std::string, std::string> packages(std::string_view id);

    std::vector<sandbox_record> used_before(double when, std::string_view status);

    /// From now on it exists for nobody, its name is free; false when it was so already.
    bool begin_delete(std::string_view id);
    void finish_delete(std::string_view id);
    std::vector<std::string> unfinished_deletes();

    void insert(const snapshot_record& made);  ///< throws database_conflict when the sandbox has that name
    std::vector<snapshot_record> snapshots(std::string_view sandbox);
    std::optional<snapshot_record> find_snapshot(std::string_view sandbox, std::string_view id_or_name);
    void remove_snapshot(std::string_view id);
    std::vector<snapshot_record> all_snapshots();

    void insert(const job_record& made);
    void finish_job(std::string_view id, std::string_view state, double ended, std::string_view result);
    std::optional<job_record> find_job(std::string_view owner, std::string_view id);
    std::vector<job_record> jobs(std::string_view owner);    ///< newest first, without results
    std::vector<std::string> lose_running_jobs(double now);  ///< those of a process that is gone; returns their ids
    std::vector<std::string> all_jobs();
    /// Forgets ended jobs of the owner but the newest `keep`; returns the ids.
    std::vector<std::string> forget_old_jobs(std::string_view owner, std::size_t keep);

    const std::filesystem::path& file() const { return file_; }
    static void checkpoint(const std::filesystem::path& file);  ///< on its own connection; blocks

private:
    std::filesystem::path file_;
    unique_fd lock_;
    bool alone_ = false;
    database db_;
};

}  // namespace cmcp
