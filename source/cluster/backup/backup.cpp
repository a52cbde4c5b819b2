#include "backup/backup.hpp"

#include "backup/backup_names.hpp"
#include "backup/database_copy.hpp"
#include "backup/tree_archiver.hpp"
#include "files/sandbox_homes.hpp"
#include "files/trees.hpp"
#include "jsonrpc/write_json.hpp"
#include "prebuilt/version.hpp"
#include "store/database.hpp"
#include "text/random_id.hpp"
#include "text/time_text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>
#include <stdexcept>

namespace cmcp::backup {

namespace {

namespace fs = std::filesystem;

constexpr const char* store_of_sandboxes = "sandboxes.sqlite";

/// A folder of the root for passing files.
class passing_folder {
public:
    explicit passing_folder(const fs::path& root) : path_(root / (".backup-" + random_id(8)))
    {
        if (::mkdir(path_.c_str(), 0700) != 0)
            throw std::runtime_error(root.string() +
                                     " cannot be written: a backup needs room there for copies of the "
                                     "databases");
    }
    passing_folder(const passing_folder&) = delete;
    passing_folder& operator=(const passing_folder&) = delete;
    ~passing_folder() { whole(remove_tree(path_)); }
    fs::path file(const std::string& name) const { return path_ / name; }

private:
    fs::path path_;
};

// Files of a database beside it, locks, sockets and what a start removes.
bool is_passing(const std::string& name)
{
    constexpr std::array<std::string_view, 3> logs{"-wal", "-shm", "-journal"};
    constexpr std::array<std::string_view, 5> beginnings{".backup-", ".restore-", ".before-restore-",
                                                         "restored-settings", "try-"};
    return name == ".lock" || name == "admin.sock" || name == "stdio.sock" || name == "trash" ||
           std::ranges::any_of(logs, [&](auto end) { return name.ends_with(end); }) ||
           std::ranges::any_of(beginnings, [&](auto begin) { return name.starts_with(begin); });
}

std::vector<std::string> names_in_folder(const fs::path& folder)
{
    std::vector<std::string> all;
    for (const auto& each : fs::directory_iterator(folder)) all.push_back(each.path().filename().string());
    std::ranges::sort(all);
    return all;
}

std::string about_text(const backup_order& order)
{
    json::object about;
    about["format"] = format_version;
    about["version"] = CMCP_VERSION;
    about["made"] = timestamp(std::chrono::system_clock::now());
    about["images"] = order.images;
    struct stat status {};
    if (::stat(order.root.c_str(), &status) == 0) {
        about["uid"] = status.st_uid;
        about["gid"] = status.st_gid;
    }
    if (!order.whose.only.empty()) about["only"] = json::value_from(order.whose.only);
    if (!order.whose.without.empty()) about["without"] = json::value_from(order.whose.without);
    return jsonrpc::write_json(about);
}

class backup_run {
public:
    backup_run(const backup_order& order, archive_writer& to, const std::function<void(const backup_progress&)>& tell)
        : order_(order), to_(to), tell_(tell), passing_(order.root), trees_(to)
    {
        trees_.on_progress([this] { show(); });
    }

    backup_progress go_through()
    {
        to_.add_text(names::about, about_text(order_));
        for (const auto& file : order_.settings) trees_.add_file(file, names::settings + file.filename().string());
        for (const auto& name : names_audit_last()) add_top(name);
        to_.finish();
        show();
        progress_.problems.insert(progress_.problems.end(), trees_.left_out().begin(), trees_.left_out().end());
        return progress_;
    }

private:
    // The audit tells of this backup, too, and the server writes its records a little later than it makes them.
    std::vector<std::string> names_audit_last() const
    {
        auto names = names_in_folder(order_.root);
        std::stable_partition(names.begin(), names.end(), [](const auto& name) { return name != "audit"; });
        return names;
    }

    void add_top(const std::string& name)
    {
        const fs::path place = order_.root / name;
        const std::string as = std::string(names::root) + "/" + name;
        if (is_passing(name)) return;
        if (!fs::is_directory(place)) return add_one_file(place, as);
        if (name == "sandboxes") return add_sandboxes(place, as);
        if (name == "callers") return add_callers(place, as);
        if (!is_wanted(name)) return;
        if (name == "audit") return add_audit(place, as);
        trees_.add(place, as, [](const std::string& path) { return is_passing(path.substr(path.rfind('/') + 1)); });
    }

    // The folders of sessions do not show whose they are, and an audit is everybody's. Whoever has a key of the audit
    // can sign, so a key is where its server erases it and nowhere else.
    bool is_wanted(const std::string& name) const
    {
        if (name == "audit-key") return false;
        if (name == "images") return order_.images;
        if (order_.whose.everybody()) return true;
        if (name == "workspace") return order_.whose.has("");
        return name != "sessions" && !name.starts_with("audit");
    }

    // Two servers cannot go on with one audit, so its records are there to be read, and the server that is restored
    // begins another. The latest head is read first, so the records that follow go at least as far.
    void add_audit(const fs::path& place, const std::string& as)
    {
        constexpr const char* head = "head";
        const auto now = as + utc_text(std::time(nullptr), "-until-%Y%m%dT%H%M%SZ");
        auto until = now;  // a folder that was restored in this second may stand beside it
        for (int i = 2; fs::exists(place.parent_path() / fs::path(until).filename()); ++i)
            until = now + "-" + std::to_string(i);
        const auto copy = passing_.file(random_id(8));
        const bool has_head =
            fs::is_regular_file(fs::symlink_status(place / head)) && fs::copy_file(place / head, copy);
        trees_.add(place, until, [](const std::string& path) {
            const auto name = path.substr(path.rfind('/') + 1);
            return is_passing(name) || name == head;
        });
        if (!has_head) return;
        trees_.add_file(copy, until + "/" + head);
        fs::remove(copy);
    }

    void add_one_file(const fs::path& place, const std::string& as)
    {
        if (!fs::is_regular_file(fs::symlink_status(place))) return;
        if (!is_database(place)) return trees_.add_file(place, as);
        const auto copy = passing_.file(random_id(8));
        copy_database(place, copy, order_.whose);
        trees_.add_file(copy, as);
        fs::remove(copy);
    }

    void add_folder_alone(const fs::path& place, const std::string& as)
    {
        trees_.add(place, as, [](const std::string&) { return true; });
    }

    // Names of folders are made of those of principals, so these are made of the chosen ones.
    void add_callers(const fs::path& place, const std::string& as)
    {
        std::set<std::string> only, without;
        for (const auto& name : order_.whose.only) only.insert(as + "/" + sandbox_homes::safe_name(name));
        for (const auto& name : order_.whose.without) without.insert(as + "/" + sandbox_homes::safe_name(name));
        const auto depth = std::ranges::count(as, '/') + 1;
        trees_.add(place, as, [=](const std::string& path) {
            if (std::ranges::count(path, '/') != depth) return false;
            return without.contains(path) || (!only.empty() && !only.contains(path));
        });
    }

    void add_sandboxes(const fs::path& place, const std::string& as)
    {
        add_folder_alone(place, as);
        const auto copy = passing_.file(random_id(8));
        std::vector<std::string> ids;
        std::set<std::string> jobs;
        if (is_database(place / store_of_sandboxes)) {
            copy_database(place / store_of_sandboxes, copy, order_.whose);
            trees_.add_file(copy, as + "/" + store_of_sandboxes);
            database records(copy);
            ids = records.prepare("SELECT id FROM sandboxes WHERE status <> 'deleting' ORDER BY id").texts();
            const auto known_jobs = records.prepare("SELECT id FROM jobs").texts();
            jobs.insert(known_jobs.begin(), known_jobs.end());
        }
        remove_copy(copy);
        if (fs::is_directory(place / "jobs")) add_outputs(place / "jobs", as + "/jobs", jobs);
        progress_.of_sandboxes = ids.size();
        for (const auto& id : ids) add_sandbox(id, place / id, as + "/" + id);
    }

    // Of jobs that the records name, because others are those of principals that are left out.
    void add_outputs(const fs::path& place, const std::string& as, const std::set<std::string>& jobs)
    {
        trees_.add(place, as, [&](const std::string& path) { return !jobs.contains(path.substr(as.size() + 1)); });
    }

    static void remove_copy(const fs::path& copy)
    {
        for (const char* end : {"", "-wal", "-shm"}) fs::remove(copy.string() + end);
    }

    void add_sandbox(const std::string& id, const fs::path& place, const std::string& as)
    {
        ++progress_.sandboxes;
        show();
        // The files of default sandboxes are elsewhere.
        const bool has_files = fs::is_directory(place / "workspace");
        const auto copy = has_files && order_.copy ? order_.copy(id) : std::nullopt;
        if (!fs::is_directory(place)) return;  // it was deleted meanwhile
        add_folder_alone(place, as);
        if (has_files) trees_.add(copy.value_or(place / "workspace"), as + "/workspace");
        if (copy) whole(remove_tree(*copy));
        if (fs::is_directory(place / "snapshots")) trees_.add(place / "snapshots", as + "/snapshots");
        // Marks of installations that go on: a start of the server ends what they are about.
        for (const auto& name : names_in_folder(place))
            if (fs::is_regular_file(fs::symlink_status(place / name))) trees_.add_file(place / name, as + "/" + name);
    }

    void show()
    {
        progress_.entries = to_.entries();
        progress_.bytes = to_.bytes();
        progress_.left_out = trees_.left_out_count();
        if (tell_) tell_(progress_);
    }

    const backup_order& order_;
    archive_writer& to_;
    const std::function<void(const backup_progress&)>& tell_;
    passing_folder passing_;
    tree_archiver trees_;
    backup_progress progress_;
};

}  // namespace

backup_progress write_backup(const backup_order& order, archive_writer& to,
                             const std::function<void(const backup_progress&)>& tell)
{
    return backup_run(order, to, tell).go_through();
}

}  // namespace cmcp::backup
