#pragma once

#include "store/database.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

/// The time for which a sandbox was made. Times are seconds since 1970.
struct sandbox_lease {
    double ends = 0;       ///< 0: it has no end
    double length = 0;     ///< seconds that it has when the sandbox is resumed
    bool deletes = false;  ///< at its end the sandbox is deleted instead of paused
};

/// The record of a sandbox. Times are seconds since 1970.
struct sandbox_record {
    std::string id;       ///< sbx_<node>_<32 hex>
    std::string owner;    ///< principal; empty: the default caller
    std::string session;  ///< digest of the session that made it; empty: made without one
    std::string name;     ///< unique among the owner's
    std::string image;
    std::string status = "running";  ///< running, stopped or paused
    double created = 0;
    double last_used = 0;
    std::uint64_t disk = 0;  ///< bytes, as last measured
    bool passing = false;    ///< ends with its session
    std::string network{};   ///< hosts that it may reach, between commas; empty: none
    std::string home{};      ///< of a caller's default sandbox: where its files are, below SANDBOX_ROOT
    std::string labels{};    ///< that its server must have, between commas
    std::string terms{};     ///< JSON that E2B's API keeps with it; empty: that has not used it
    bool machine = false;    ///< of class machine: root inside, and a root folder of its own
    std::string user{};      ///< the name of its account; empty: the usual one
    sandbox_lease lease{};
    std::string services{};  ///< JSON of the programs that run whenever it does (sandbox_services)

    bool is_default() const { return !home.empty(); }
    bool is_paused() const { return status == "paused"; }
    const char* class_name() const { return machine ? "machine" : "strict"; }

    auto columns()
    {
        return std::tie(id, owner, session, name, image, status, created, last_used, disk, passing, network, home,
                        labels, terms, machine, user, lease.ends, lease.length, lease.deletes, services);
    }
};

/// A copy of the files of a sandbox to go back to.
struct snapshot_record {
    std::string id;  ///< snp_<node>_<32 hex>
    std::string owner;
    std::string sandbox;
    std::string name;
    double created = 0;
    std::uint64_t disk = 0;

    auto columns() { return std::tie(id, owner, sandbox, name, created, disk); }
};

/// A sandbox with the packages that are installed in it, by name with version.
struct listed_sandbox {
    sandbox_record record;
    std::vector<std::pair<std::string, std::string>> packages;
};

/// The order of a choice; the latest used and the largest come first.
enum class sandbox_order { id, used, disk };

/// A choice among the records of sandboxes.
struct sandbox_choice {
    std::string owner{};
    bool of_all = false;  ///< whatever the owner
    std::string match{};  ///< a part of id, name or owner; empty: any
    std::string after{};  ///< the cursor of a record: those behind it; empty: all
    std::size_t most = 100;
    sandbox_order by = sandbox_order::id;
    std::string first_home{};  ///< of the default sandbox that comes before all others in the order `used`

    std::string cursor_of(const sandbox_record& record) const;  ///< in this order, for `after`
};

struct sandbox_totals {
    std::string owner;
    std::uint64_t count = 0;     ///< without default ones, as the quota counts
    std::uint64_t defaults = 0;  ///< default ones
    std::uint64_t disk = 0;      ///< bytes of all, snapshots included

    auto columns() { return std::tie(owner, count, defaults, disk); }
};

/// The records of sandboxes, their packages and snapshots in an SQLite file. It is the only truth: nothing is
/// kept in memory, several processes may use the same file. Every call is one statement or one transaction, takes some
/// ten microseconds and never waits for the disk (checkpoint() does, and belongs on another thread). Throws
/// database_error.
class sandbox_store {
public:
    explicit sandbox_store(std::filesystem::path file);

    void insert(const sandbox_record& record);  ///< throws database_conflict when the owner has that name
    std::optional<sandbox_record> find(std::string_view owner, std::string_view id_or_name);
    std::optional<sandbox_record> find_of_any(std::string_view id);  ///< whoever owns it
    std::optional<sandbox_record> find_home(std::string_view home);  ///< the default sandbox with its files there
    /// The newest sandbox but the default one. `session` empty: of those made without a session; `any_session`: of all.
    std::optional<sandbox_record> latest(std::string_view owner, std::string_view session, bool any_session);
    std::vector<sandbox_record> list(std::string_view owner);  ///< oldest first
    std::vector<sandbox_record> all();
    std::vector<sandbox_record> choose(const sandbox_choice& wanted);
    std::size_t count(const sandbox_choice& wanted);  ///< whatever `after` and `most` say
    std::vector<sandbox_totals> totals();             ///< by owner
    std::size_t count(std::string_view owner);        ///< without the default one
    std::uint64_t disk(std::string_view owner);       ///< bytes of all sandboxes and snapshots of the owner

    void rename(std::string_view id, std::string_view to);  ///< from now on `to` is its handle
    void touch(std::string_view id,
               double now);  ///< used now; it is running, and the lease of a paused one begins anew
    void set_status(std::string_view id, std::string_view status);
    void set_disk(std::string_view id, std::uint64_t bytes);
    void set_network(std::string_view id, std::string_view hosts);
    void set_terms(std::string_view id, std::string_view terms);
    void set_lease(std::string_view id, const sandbox_lease& lease);
    void set_services(std::string_view id, std::string_view services);
    std::vector<sandbox_record> with_lease_until(double when);  ///< that are not paused, and whose lease ends by then
    void set_packages(std::string_view id, const std::map<std::string, std::string>& versions);
    std::map<std::string, std::string> packages(std::string_view id);

    /// From now on the sandbox belongs to this session.
    void hold(std::string_view id, std::string_view session, bool passing);
    std::vector<sandbox_record> passing();  ///< all that end with their sessions
    std::vector<sandbox_record> passing(std::string_view owner, std::string_view session);  ///< with this one

    std::vector<sandbox_record> used_before(double when, std::string_view status);

    /// From now on the sandbox exists for nobody and its name is free; false when that was so already.
    bool begin_delete(std::string_view id);
    void finish_delete(std::string_view id);
    std::vector<sandbox_record> unfinished_deletes();

    void insert(const snapshot_record& record);  ///< throws database_conflict when the sandbox has that name
    std::vector<snapshot_record> snapshots(std::string_view sandbox);
    std::optional<snapshot_record> find_snapshot(std::string_view sandbox, std::string_view id_or_name);
    void remove_snapshot(std::string_view id);
    std::vector<snapshot_record> all_snapshots();

    const std::filesystem::path& file() const { return file_; }
    /// list() with packages, on its own connection: there may be very many, and another thread reads them.
    static std::vector<listed_sandbox> listing(const std::filesystem::path& file, std::string_view owner);

    static void checkpoint(const std::filesystem::path& file);  ///< on its own connection; blocks

private:
    std::filesystem::path file_;
    database db_;
};

}  // namespace cmcp
