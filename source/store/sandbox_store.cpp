#include "store/sandbox_store.hpp"

#include "store/migrations.hpp"

namespace cmcp {

namespace {

constexpr const char* columns =
    "SELECT id, owner, session, name, image, status, created, last_used, disk FROM sandboxes ";

sandbox_record read_sandbox(const statement& row)
{
    sandbox_record made;
    made.id = row.text(0);
    made.owner = row.text(1);
    made.session = row.text(2);
    made.name = row.text(3);
    made.image = row.text(4);
    made.status = row.text(5);
    made.created = row.real(6);
    made.last_used = row.real(7);
    made.disk = static_cast<std::uint64_t>(row.integer(8));
    return made;
}

std::vector<sandbox_record> read_all(statement found)
{
    std::vector<sandbox_record> all;
    while (found.step()) all.push_back(read_sandbox(found));
    return all;
}

std::optional<sandbox_record> read_one(statement found)
{
    if (!found.step()) return std::nullopt;
    return read_sandbox(found);
}

std::vector<std::string> read_texts(statement found)
{
    std::vector<std::string> all;
    while (found.step()) all.push_back(found.text(0));
    return all;
}

snapshot_record read_snapshot(const statement& row)
{
    snapshot_record made;
    made.id = row.text(0);
    made.owner = row.text(1);
    made.sandbox = row.text(2);
    made.name = row.text(3);
    made.created = row.real(4);
    made.disk = static_cast<std::uint64_t>(row.integer(5));
    return made;
}

std::vector<snapshot_record> read_snapshots(statement found)
{
    std::vector<snapshot_record> all;
    while (found.step()) all.push_back(read_snapshot(found));
    return all;
}

}  // namespace

sandbox_store::sandbox_store(std::filesystem::path file) : file_(std::move(file)), db_(file_) { migrate(db_); }

void sandbox_store::insert(const sandbox_record& made)
{
    auto asked = db_.prepare("INSERT INTO sandboxes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    asked.bind(1, made.id).bind(2, made.owner).bind(3, made.session).bind(4, made.name).bind(5, made.image);
    asked.bind(6, made.status)
        .bind(7, made.created)
        .bind(8, made.last_used)
        .bind(9, static_cast<std::int64_t>(made.disk));
    asked.run();
}

std::optional<sandbox_record> sandbox_store::find(std::string_view owner, std::string_view id)
{
    auto asked = db_.prepare(std::string(columns) + "WHERE id = ? AND owner = ? AND status <> 'deleting'");
    asked.bind(1, id).bind(2, owner);
    return read_one(std::move(asked));
}

std::optional<sandbox_record> sandbox_store::find_by_name(std::string_view owner, std::string_view name)
{
    auto asked = db_.prepare(std::string(columns) + "WHERE name = ? AND owner = ? AND status <> 'deleting'");
    asked.bind(1, name).bind(2, owner);
    return read_one(std::move(asked));
}

std::optional<sandbox_record> sandbox_store::latest(std::string_view owner, std::string_view session, bool any_session)
{
    auto asked = db_.prepare(std::string(columns) +
                             "WHERE owner = ? AND (? OR session = ?) AND status <> 'deleting' "
                             "ORDER BY created DESC, rowid DESC LIMIT 1");
    asked.bind(1, owner).bind(2, std::int64_t{any_session}).bind(3, session);
    return read_one(std::move(asked));
}

std::vector<sandbox_record> sandbox_store::list(std::string_view owner)
{
    auto asked = db_.prepare(std::string(columns) + "WHERE owner = ? AND status <> 'deleting' ORDER BY created, rowid");
    asked.bind(1, owner);
    return read_all(std::move(asked));
}

std::vector<sandbox_record> sandbox_store::all()
{
    return read_all(db_.prepare(std::string(columns) + "WHERE status <> 'deleting' ORDER BY created, rowid"));
}

std::size_t sandbox_store::count(std::string_view owner)
{
    auto asked = db_.prepare("SELECT count(*) FROM sandboxes WHERE owner = ? AND status <> 'deleting'");
    asked.bind(1, owner).step();
    return static_cast<std::size_t>(asked.integer(0));
}

std::uint64_t sandbox_store::disk(std::string_view owner)
{
    auto asked = db_.prepare(
        "SELECT (SELECT total(disk) FROM sandboxes WHERE owner = ?1) + "
        "(SELECT total(disk) FROM snapshots WHERE owner = ?1)");
    asked.bind(1, owner).step();
    return static_cast<std::uint64_t>(asked.real(0));
}

void sandbox_store::touch(std::string_view id, double now)
{
    auto asked =
        db_.prepare("UPDATE sandboxes SET last_used = ?, status = 'running' WHERE id = ? AND status <> 'deleting'");
    asked.bind(1, now).bind(2, id).run();
}

void sandbox_store::set_status(std::string_view id, std::string_view status)
{
    auto asked = db_.prepare("UPDATE sandboxes SET status = ? WHERE id = ? AND status <> 'deleting'");
    asked.bind(1, status).bind(2, id).run();
}

void sandbox_store::set_disk(std::string_view id, std::uint64_t bytes)
{
    auto asked = db_.prepare("UPDATE sandboxes SET disk = ? WHERE id = ?");
    asked.bind(1, static_cast<std::int64_t>(bytes)).bind(2, id).run();
}

void sandbox_store::set_packages(std::string_view id, const std::map<std::string, std::string>& versions)
{
    transaction all(db_);
    db_.prepare("DELETE FROM packages WHERE sandbox = ?").bind(1, id).run();
    for (const auto& [name, version] : versions)
        db_.prepare("INSERT INTO packages VALUES (?, ?, ?)").bind(1, id).bind(2, name).bind(3, version).run();
    all.commit();
}

std::map<std::string, std::string> sandbox_store::packages(std::string_view id)
{
    auto asked = db_.prepare("SELECT name, version FROM packages WHERE sandbox = ?");
    asked.bind(1, id);
    std::map<std::string, std::string> found;
    while (asked.step()) found.emplace(asked.text(0), asked.text(1));
    return found;
}

std::vector<sandbox_record> sandbox_store::used_before(double when, std::string_view status)
{
    auto asked =
        db_.prepare(std::string(columns) + "WHERE last_used < ? AND (? = '' OR status = ?) AND status <> 'deleting'");
    asked.bind(1, when).bind(2, status).bind(3, status);
    return read_all(std::move(asked));
}

bool sandbox_store::begin_delete(std::string_view id)
{
    auto asked = db_.prepare("UPDATE sandboxes SET status = 'deleting' WHERE id = ? AND status <> 'deleting'");
    asked.bind(1, id).run();
    return db_.changes() != 0;
}

void sandbox_store::finish_delete(std::string_view id)
{
    db_.prepare("DELETE FROM sandboxes WHERE id = ?").bind(1, id).run();
}

std::vector<std::string> sandbox_store::unfinished_deletes()
{
    return read_texts(db_.prepare("SELECT id FROM sandboxes WHERE status = 'deleting'"));
}

void sandbox_store::insert(const snapshot_record& made)
{
    auto asked = db_.prepare("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?)");
    asked.bind(1, made.id).bind(2, made.owner).bind(3, made.sandbox).bind(4, made.name).bind(5, made.created);
    asked.bind(6, static_cast<std::int64_t>(made.disk)).run();
}

std::vector<snapshot_record> sandbox_store::snapshots(std::string_view sandbox)
{
    auto asked = db_.prepare("SELECT * FROM snapshots WHERE sandbox = ? ORDER BY created, rowid");
    asked.bind(1, sandbox);
    return read_snapshots(std::move(asked));
}

std::optional<snapshot_record> sandbox_store::find_snapshot(std::string_view sandbox, std::string_view id_or_name)
{
    auto asked = db_.prepare("SELECT * FROM snapshots WHERE sandbox = ? AND (id = ? OR name = ?)");
    asked.bind(1, sandbox).bind(2, id_or_name).bind(3, id_or_name);
    if (!asked.step()) return std::nullopt;
    return read_snapshot(asked);
}

void sandbox_store::remove_snapshot(std::string_view id)
{
    db_.prepare("DELETE FROM snapshots WHERE id = ?").bind(1, id).run();
}

std::vector<snapshot_record> sandbox_store::all_snapshots()
{
    return read_snapshots(db_.prepare("SELECT * FROM snapshots"));
}

void sandbox_store::checkpoint(const std::filesystem::path& file) { database(file).checkpoint(); }

}  // namespace cmcp
