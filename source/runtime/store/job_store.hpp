#pragma once

#include "store/database.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The record of a job: a call that goes on after its request was answered. Times are seconds since 1970.
struct job_record {
    std::string id;  ///< job_<node>_<32 hex>
    std::string owner;
    std::string sandbox;  ///< id; empty: of none
    std::string tool;
    std::string label;              ///< the beginning of the code or command, for people
    std::string state = "running";  ///< running, queued (never in the store), finished, killed, failed or lost
    double created = 0;
    double ended = 0;     ///< 0: not yet
    double keep = 0;      ///< seconds that the record is kept after the end; 0: as one of its owner's latest
    std::string message;  ///< for people: how far the job is, or why it ended
    std::string error;    ///< a JSON-RPC error object; empty: none
    std::string result;   ///< a CallToolResult as JSON; empty: none

    std::string_view kind() const { return keep > 0 ? "task" : "job"; }  ///< as its owner knows it

    auto columns()
    {
        return std::tie(id, owner, sandbox, tool, label, state, created, ended, keep, message, error, result);
    }
};

/// The jobs that are kept for a time (job_record::keep).
struct job_usage {
    std::size_t own = 0;
    std::size_t all = 0;
    std::uint64_t bytes = 0;  ///< of all their results
};

/// The jobs of an owner that are kept for a time.
struct job_totals {
    std::string owner;
    std::uint64_t count = 0;

    auto columns() { return std::tie(owner, count); }
};

/// The records of jobs. Several processes may use the same file. Every call is one statement, takes some ten
/// microseconds and never waits for the disk. A job whose time is over is not found any more. Throws database_error.
class job_store {
public:
    explicit job_store(const std::filesystem::path& file);

    void insert(const job_record& record);
    void finish(const job_record& record);  ///< keeps state, ended, message, error and result
    void remove(std::string_view id);
    std::optional<job_record> find(std::string_view id, double now);
    std::vector<job_record> list(std::string_view owner, double now);  ///< newest first, without results and errors
    std::vector<job_record> latest(std::string_view owner, bool of_all, double now, std::size_t most);  ///< the same
    job_usage usage(std::string_view owner, double now);
    std::vector<job_totals> totals(double now);  ///< by owner
    std::vector<std::string> all();
    std::vector<std::string> owners(double now);
    bool has_any(std::string_view owner, double now);

    /// Ends the jobs of a process that is gone.
    void lose_running(double now, std::string_view message);

    std::vector<std::string> forget_expired(double now);  ///< returns the ids

    /// Forgets the owner's ended jobs that are not kept for a time, but the newest `keep`; returns the ids.
    std::vector<std::string> forget_old(std::string_view owner, std::size_t keep);

private:
    database db_;
};

}  // namespace cmcp
