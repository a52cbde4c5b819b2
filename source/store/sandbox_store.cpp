#include "store/sandbox_store.hpp"

#include "store/migrations.hpp"

namespace cmcp {

namespace {

std::string sandboxes_where(std::string_view condition)
{
    return "SELECT id, owner, session, name, image, status, created, last_used, disk FROM sandboxes "
           "WHERE status <> 'deleting' AND " +
           std::string(condition);
}

sandbox_record read_sandbox(const statement& row)
{
    sandbox_record record;
    record.id = row.text(0);
    record.owner = row.text(1);
    record.session = row.text(2);
    record.name = row.text(3);
    record.image = row.text(4);
    record.status = row.text(5);
    record.created = row.real(6);
    record.last_used = row.real(7);
    record.disk = static_cast<std::uint64_t>(row.integer(8));
    return record;
}

snapshot_record read_snapshot(const statement& row)
{
    snapshot_record record;
    record.id = row.text(0);
    record.owner = row.text(1);
    record.sandbox = row.text(2);
    record.name = row.text(3);
    record.created = row.real(4);
    record.disk = static_cast<std::uint64_t>(row.integer(5));
    return record;
}

template <class Record>
std::vector<Record> read_all(statement rows, Record (*read)(const statement& row))
{
    std::vector<Record> records;
    while (rows.step()) records.push_back(read(rows));
    return records;
}

template <class Record>
std::optional<Record> read_one(statement row, Record (*read)(const statement& row))
{
    if (!row.step()) return std::nullopt;
    return read(row);
}

}  // namespace

sandbox_store::sandbox_store(std::filesystem::path file) : file_(std::move(file)), db_(file_) { migrate(db_); }

void sandbox_store::insert(const sandbox_record& record)
{
    db_.prepare("INSERT INTO sandboxes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", record.id, record.owner, record.session,
                record.name, record.image, record.status, record.created, record.last_used,
                static_cast<std::int64_t>(record.disk))
        .run();
}

std::optional<sandbox_record> sandbox_store::find(std::string_view owner, std::string_view id)
{
    return read_one(db_.prepare(sandboxes_where("id = ? AND owner = ?"), id, owner), read_sandbox);
}

std::optional<sandbox_record> sandbox_store::find_by_name(std::string_view owner, std::string_view name)
{
    return read_one(db_.prepare(sandboxes_where("name = ? AND owner = ?"), name, owner), read_sandbox);
}

std::optional<sandbox_record> sandbox_store::latest(std::string_view owner, std::string_view session, bool any_session)
{
    const auto sql = sandboxes_where("owner = ? AND (? OR session = ?) ORDER BY created DESC, rowid DESC LIMIT 1");
    return read_one(db_.prepare(sql, owner, std::int64_t{any_session}, session), read_sandbox);
}

std::vector<sandbox_record> sandbox_store::list(std::string_view owner)
{
    return read_all(db_.prepare(sandboxes_where("owner = ? ORDER BY created, rowid"), owner), read_sandbox);
}

std::vector<sandbox_record> sandbox_store::all()
{
    return read_all(db_.prepare(sandboxes_where("true ORDER BY created, rowid")), read_sandbox);
}

std::vector<sandbox_record> sandbox_store::used_before(double when, std::string_view status)
{
    const auto sql = sandboxes_where("last_used < ?1 AND (?2 = '' OR status = ?2)");
    return read_all(db_.prepare(sql, when, status), read_sandbox);
}

std::size_t sandbox_store::count(std::string_view owner)
{
    auto row = db_.prepare("SELECT count(*) FROM sandboxes WHERE owner = ? AND status <> 'deleting'", owner);
    row.step();
    return static_cast<std::size_t>(row.integer(0));
}

std::uint64_t sandbox_store::disk(std::string_view owner)
{
    auto row = db_.prepare(
        "SELECT (SELECT total(disk) FROM sandboxes WHERE owner = ?1) + "
        "(SELECT total(disk) FROM snapshots WHERE owner = ?1)",
        owner);
    row.step();
    return static_cast<std::uint64_t>(row.real(0));
}

void sandbox_store::touch(std::string_view id, double now)
{
    db_.prepare("UPDATE sandboxes SET last_used = ?, status = 'running' WHERE id = ? AND status <> 'deleting'", now, id)
        .run();
}

void sandbox_store::set_status(std::string_view id, std::string_view status)
{
    db_.prepare("UPDATE sandboxes SET status = ? WHERE id = ? AND status <> 'deleting'", status, id).run();
}

void sandbox_store::set_disk(std::string_view id, std::uint64_t bytes)
{
    db_.prepare("UPDATE sandboxes SET disk = ? WHERE id = ?", static_cast<std::int64_t>(bytes), id).run();
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
    auto rows = db_.prepare("SELECT name, version FROM packages WHERE sandbox = ?", id);
    std::map<std::string, std::string> versions;
    while (rows.step()) versions.emplace(rows.text(0), rows.text(1));
    return versions;
}

bool sandbox_store::begin_delete(std::string_view id)
{
    db_.prepare("UPDATE sandboxes SET status = 'deleting' WHERE id = ? AND status <> 'deleting'", id).run();
    return db_.changes() != 0;
}

void sandbox_store::finish_delete(std::string_view id) { db_.prepare("DELETE FROM sandboxes WHERE id = ?", id).run(); }

std::vector<std::string> sandbox_store::unfinished_deletes()
{
    return db_.prepare("SELECT id FROM sandboxes WHERE status = 'deleting'").texts();
}

void sandbox_store::insert(const snapshot_record& record)
{
    db_.prepare("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)", record.id, record.owner, record.sandbox, record.name,
                record.created, static_cast<std::int64_t>(record.disk))
        .run();
}

std::vector<snapshot_record> sandbox_store::snapshots(std::string_view sandbox)
{
    const auto* sql = "SELECT * FROM snapshots WHERE sandbox = ? ORDER BY created, rowid";
    return read_all(db_.prepare(sql, sandbox), read_snapshot);
}

std::optional<snapshot_record> sandbox_store::find_snapshot(std::string_view sandbox, std::string_view id_or_name)
{
    const auto* sql = "SELECT * FROM snapshots WHERE sandbox = ?1 AND (id = ?2 OR name = ?2)";
    return read_one(db_.prepare(sql, sandbox, id_or_name), read_snapshot);
}

void sandbox_store::remove_snapshot(std::string_view id)
{
    db_.prepare("DELETE FROM snapshots WHERE id = ?", id).run();
}

std::vector<snapshot_record> sandbox_store::all_snapshots()
{
    return read_all(db_.prepare("SELECT * FROM snapshots"), read_snapshot);
}

void sandbox_store::checkpoint(const std::filesystem::path& file) { database(file).checkpoint(); }

}  // namespace cmcp
