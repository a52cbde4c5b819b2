#pragma once

#include "store/database.hpp"
#include "store/sandbox_record.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The records of sandboxes, their packages and snapshots in an SQLite file. It is the only truth: nothing is
/// kept in memory, several processes may use the same file. Every call is one statement or one transaction, takes some
/// ten microseconds and never waits for the disk (checkpoint() does, and belongs on another thread). Throws
/// database_error.
class sandbox_store {
public:
    explicit sandbox_store(std::filesystem::path file);

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

    const std::filesystem::path& file() const { return file_; }
    static void checkpoint(const std::filesystem::path& file);  ///< on its own connection; blocks

private:
    std::filesystem::path file_;
    database db_;
};

}  // namespace cmcp
