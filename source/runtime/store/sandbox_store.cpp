#include "store/sandbox_store.hpp"

#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cmcp {

namespace {

const std::string all_columns =
    "SELECT id, owner, session, name, image, status, created, last_used, disk, passing, network, home, labels, "
    "terms, machine, user, lease_ends, lease_length, lease_deletes, services "
    "FROM sandboxes ";

std::string sandboxes_where(std::string_view condition)
{
    return all_columns + "WHERE status <> 'deleting' AND " + std::string(condition);
}

const std::string fits_choice =
    "(?1 OR owner = ?2) AND (?3 = '' OR instr(id, ?3) OR instr(name, ?3) OR instr(owner, ?3))";

// The value of the order, and behind a blank the id, because values may be the same. A text that is no cursor is before
// all.
struct order_cursor {
    double value = 0;
    std::string_view id;

    explicit order_cursor(std::string_view text)
    {
        const auto blank = std::min(text.find(' '), text.size());
        id = text.substr(std::min(blank + 1, text.size()));
        value = read_number<double>(text.substr(0, blank)).value_or(0);
    }
};

constexpr double before_all = 1e12;  // seconds, added to a time

double value_in_order(const sandbox_record& record, const sandbox_choice& among)
{
    if (among.by == sandbox_order::disk) return static_cast<double>(record.disk);
    const bool is_first = record.is_default() && record.home == among.first_home;
    return is_first ? record.last_used + before_all : record.last_used;
}

}  // namespace

std::string sandbox_choice::cursor_of(const sandbox_record& record) const
{
    if (by == sandbox_order::id) return record.id;
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value_in_order(record, *this)).ptr;
    return std::string(text.data(), end) + " " + record.id;
}

sandbox_store::sandbox_store(std::filesystem::path file) : file_(std::move(file)), db_(file_) { migrate(db_); }

void sandbox_store::insert(const sandbox_record& record) { db_.insert("sandboxes", record); }

std::optional<sandbox_record> sandbox_store::find(std::string_view owner, std::string_view id_or_name)
{
    const auto sql = sandboxes_where("owner = ?1 AND (id = ?2 OR name = ?2) ORDER BY id = ?2 DESC LIMIT 1");
    return db_.prepare(sql, owner, id_or_name).record<sandbox_record>();
}

std::optional<sandbox_record> sandbox_store::find_of_any(std::string_view id)
{
    return db_.prepare(sandboxes_where("id = ?"), id).record<sandbox_record>();
}

std::optional<sandbox_record> sandbox_store::find_home(std::string_view home)
{
    return db_.prepare(sandboxes_where("home = ? AND home <> ''"), home).record<sandbox_record>();
}

std::optional<sandbox_record> sandbox_store::latest(std::string_view owner, std::string_view session, bool any_session)
{
    const auto sql =
        sandboxes_where("owner = ? AND home = '' AND (? OR session = ?) ORDER BY created DESC, rowid DESC LIMIT 1");
    return db_.prepare(sql, owner, std::int64_t{any_session}, session).record<sandbox_record>();
}

std::vector<sandbox_record> sandbox_store::list(std::string_view owner)
{
    return db_.prepare(sandboxes_where("owner = ? ORDER BY created, rowid"), owner).records<sandbox_record>();
}

std::vector<sandbox_record> sandbox_store::all()
{
    return db_.prepare(sandboxes_where("true ORDER BY created, rowid")).records<sandbox_record>();
}

std::vector<sandbox_record> sandbox_store::choose(const sandbox_choice& wanted)
{
    if (wanted.by == sandbox_order::id) {
        const auto sql = sandboxes_where(fits_choice + " AND id > ?4 ORDER BY id LIMIT ?5");
        return db_.prepare(sql, wanted.of_all, wanted.owner, wanted.match, wanted.after, wanted.most)
            .records<sandbox_record>();
    }
    const bool by_size = wanted.by == sandbox_order::disk;
    const std::string by =
        std::string("(") + (by_size ? "disk" : "last_used") + " + iif(home <> '' AND home = ?7, ?8, 0))";
    const auto sql = sandboxes_where(fits_choice + " AND (?4 = '' OR (" + by + ", id) < (?5, ?4)) ORDER BY " + by +
                                     " DESC, id DESC LIMIT ?6");
    const order_cursor after(wanted.after);
    return db_
        .prepare(sql, wanted.of_all, wanted.owner, wanted.match, after.id, after.value, wanted.most,
                 by_size ? std::string() : wanted.first_home, before_all)
        .records<sandbox_record>();
}

std::size_t sandbox_store::count(const sandbox_choice& wanted)
{
    const auto sql = "SELECT count(*) FROM sandboxes WHERE status <> 'deleting' AND " + fits_choice;
    auto row = db_.prepare(sql, wanted.of_all, wanted.owner, wanted.match);
    return std::get<0>(row.row<std::uint64_t>());
}

std::vector<sandbox_totals> sandbox_store::totals()
{
    return db_
        .prepare(
            "SELECT owner, sum(one AND home = ''), sum(one AND home <> ''), total(disk) FROM (SELECT owner, home, "
            "status <> 'deleting' AS one, disk FROM sandboxes UNION ALL SELECT owner, '', 0, disk FROM snapshots) "
            "GROUP BY owner")
        .records<sandbox_totals>();
}

std::vector<sandbox_record> sandbox_store::used_before(double when, std::string_view status)
{
    const auto sql = sandboxes_where("last_used < ?1 AND (?2 = '' OR status = ?2)");
    return db_.prepare(sql, when, status).records<sandbox_record>();
}

void sandbox_store::hold(std::string_view id, std::string_view session, bool passing)
{
    db_.prepare("UPDATE sandboxes SET session = ?, passing = ? WHERE id = ?", session, std::int64_t{passing}, id).run();
}

std::vector<sandbox_record> sandbox_store::passing()
{
    return db_.prepare(sandboxes_where("passing")).records<sandbox_record>();
}

std::vector<sandbox_record> sandbox_store::passing(std::string_view owner, std::string_view session)
{
    return db_.prepare(sandboxes_where("owner = ? AND session = ? AND passing"), owner, session)
        .records<sandbox_record>();
}

std::size_t sandbox_store::count(std::string_view owner)
{
    auto row =
        db_.prepare("SELECT count(*) FROM sandboxes WHERE owner = ? AND home = '' AND status <> 'deleting'", owner);
    return std::get<0>(row.row<std::uint64_t>());
}

std::uint64_t sandbox_store::disk(std::string_view owner)
{
    auto row = db_.prepare(
        "SELECT (SELECT total(disk) FROM sandboxes WHERE owner = ?1) + "
        "(SELECT total(disk) FROM snapshots WHERE owner = ?1)",
        owner);
    return std::get<0>(row.row<std::uint64_t>());
}

// The rows that refer to it are changed with it, so they are looked at when all is done.
void sandbox_store::rename(std::string_view id, std::string_view to)
{
    transaction all(db_);
    db_.execute("PRAGMA defer_foreign_keys = ON");
    db_.prepare("UPDATE sandboxes SET id = ? WHERE id = ?", to, id).run();
    for (const char* of : {"packages", "snapshots", "jobs"})
        db_.prepare("UPDATE " + std::string(of) + " SET sandbox = ? WHERE sandbox = ?", to, id).run();
    all.commit();
}

void sandbox_store::touch(std::string_view id, double now)
{
    db_.prepare(
           "UPDATE sandboxes SET last_used = ?1, status = 'running', lease_ends = CASE WHEN status = 'paused' AND "
           "lease_ends > 0 THEN ?1 + lease_length ELSE lease_ends END WHERE id = ?2 AND status <> 'deleting'",
           now, id)
        .run();
}

void sandbox_store::set_status(std::string_view id, std::string_view status)
{
    db_.prepare("UPDATE sandboxes SET status = ? WHERE id = ? AND status <> 'deleting'", status, id).run();
}

void sandbox_store::set_disk(std::string_view id, std::uint64_t bytes)
{
    db_.prepare("UPDATE sandboxes SET disk = ? WHERE id = ?", bytes, id).run();
}

void sandbox_store::set_network(std::string_view id, std::string_view hosts)
{
    db_.prepare("UPDATE sandboxes SET network = ? WHERE id = ? AND status <> 'deleting'", hosts, id).run();
}

void sandbox_store::set_terms(std::string_view id, std::string_view terms)
{
    db_.prepare("UPDATE sandboxes SET terms = ? WHERE id = ?", terms, id).run();
}

void sandbox_store::set_lease(std::string_view id, const sandbox_lease& lease)
{
    db_.prepare("UPDATE sandboxes SET lease_ends = ?, lease_length = ?, lease_deletes = ? WHERE id = ?", lease.ends,
                lease.length, lease.deletes, id)
        .run();
}

void sandbox_store::set_services(std::string_view id, std::string_view services)
{
    db_.prepare("UPDATE sandboxes SET services = ? WHERE id = ?", services, id).run();
}

std::vector<sandbox_record> sandbox_store::with_lease_until(double when)
{
    return db_.prepare(sandboxes_where("lease_ends > 0 AND lease_ends <= ? AND status <> 'paused'"), when)
        .records<sandbox_record>();
}

void sandbox_store::set_packages(std::string_view id, const std::map<std::string, std::string>& versions)
{
    transaction all(db_);
    db_.prepare("DELETE FROM packages WHERE sandbox = ?", id).run();
    for (const auto& [name, version] : versions)
        db_.prepare("INSERT INTO packages VALUES (?, ?, ?)", id, name, version).run();
    all.commit();
}

std::map<std::string, std::string> sandbox_store::packages(std::string_view id)
{
    struct package {
        std::string name, version;
        auto columns() { return std::tie(name, version); }
    };
    auto rows = db_.prepare("SELECT name, version FROM packages WHERE sandbox = ?", id);
    std::map<std::string, std::string> versions;
    for (auto& each : rows.records<package>()) versions.emplace(std::move(each.name), std::move(each.version));
    return versions;
}

bool sandbox_store::begin_delete(std::string_view id)
{
    db_.prepare("UPDATE sandboxes SET status = 'deleting' WHERE id = ? AND status <> 'deleting'", id).run();
    return db_.changes() != 0;
}

void sandbox_store::finish_delete(std::string_view id) { db_.prepare("DELETE FROM sandboxes WHERE id = ?", id).run(); }

std::vector<sandbox_record> sandbox_store::unfinished_deletes()
{
    return db_.prepare(all_columns + "WHERE status = 'deleting'").records<sandbox_record>();
}

void sandbox_store::insert(const snapshot_record& record) { db_.insert("snapshots", record); }

std::vector<snapshot_record> sandbox_store::snapshots(std::string_view sandbox)
{
    const auto* sql = "SELECT * FROM snapshots WHERE sandbox = ? ORDER BY created, rowid";
    return db_.prepare(sql, sandbox).records<snapshot_record>();
}

std::optional<snapshot_record> sandbox_store::find_snapshot(std::string_view sandbox, std::string_view id_or_name)
{
    const auto* sql = "SELECT * FROM snapshots WHERE sandbox = ?1 AND (id = ?2 OR name = ?2)";
    return db_.prepare(sql, sandbox, id_or_name).record<snapshot_record>();
}

void sandbox_store::remove_snapshot(std::string_view id)
{
    db_.prepare("DELETE FROM snapshots WHERE id = ?", id).run();
}

std::vector<snapshot_record> sandbox_store::all_snapshots()
{
    return db_.prepare("SELECT * FROM snapshots").records<snapshot_record>();
}

std::vector<listed_sandbox> sandbox_store::listing(const std::filesystem::path& file, std::string_view owner)
{
    struct package {
        std::string sandbox, name, version;
        auto columns() { return std::tie(sandbox, name, version); }
    };
    database db(file);
    std::vector<listed_sandbox> all;
    std::map<std::string_view, listed_sandbox*> known;
    auto rows = db.prepare(sandboxes_where("owner = ? ORDER BY created, rowid"), owner);
    for (auto& each : rows.records<sandbox_record>()) all.push_back({std::move(each), {}});
    for (auto& each : all) known.emplace(each.record.id, &each);
    auto packages = db.prepare(
        "SELECT sandbox, packages.name, version FROM packages JOIN sandboxes ON sandboxes.id = sandbox WHERE owner = ? "
        "ORDER BY packages.name",
        owner);
    for (auto& each : packages.records<package>())
        if (const auto of = known.find(each.sandbox); of != known.end())
            of->second->packages.emplace_back(std::move(each.name), std::move(each.version));
    return all;
}

void sandbox_store::checkpoint(const std::filesystem::path& file) { database(file).checkpoint(); }

}  // namespace cmcp
