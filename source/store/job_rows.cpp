#include "store/sandbox_store.hpp"

namespace cmcp {

// The part of sandbox_store that keeps jobs and snapshots.

namespace {

job_record read_job(const statement& row)
{
    job_record made;
    made.id = row.text(0);
    made.owner = row.text(1);
    made.sandbox = row.text(2);
    made.tool = row.text(3);
    made.label = row.text(4);
    made.state = row.text(5);
    made.created = row.real(6);
    made.ended = row.real(7);
    made.result = row.text(8);
    return made;
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

std::vector<std::string> read_ids(statement found)
{
    std::vector<std::string> all;
    while (found.step()) all.push_back(found.text(0));
    return all;
}

}  // namespace

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

void sandbox_store::insert(const job_record& made)
{
    auto asked = db_.prepare("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    asked.bind(1, made.id).bind(2, made.owner).bind(3, made.sandbox).bind(4, made.tool).bind(5, made.label);
    asked.bind(6, made.state).bind(7, made.created).bind(8, made.ended).bind(9, made.result).run();
}

void sandbox_store::finish_job(std::string_view id, std::string_view state, double ended, std::string_view result)
{
    auto asked = db_.prepare("UPDATE jobs SET state = ?, ended = ?, result = ? WHERE id = ?");
    asked.bind(1, state).bind(2, ended).bind(3, result).bind(4, id).run();
}

std::optional<job_record> sandbox_store::find_job(std::string_view owner, std::string_view id)
{
    auto asked = db_.prepare("SELECT * FROM jobs WHERE id = ? AND owner = ?");
    asked.bind(1, id).bind(2, owner);
    if (!asked.step()) return std::nullopt;
    return read_job(asked);
}

std::vector<job_record> sandbox_store::jobs(std::string_view owner)
{
    auto asked = db_.prepare(
        "SELECT id, owner, sandbox, tool, label, state, created, ended, '' FROM jobs WHERE owner = ? "
        "ORDER BY created DESC, rowid DESC");
    asked.bind(1, owner);
    std::vector<job_record> all;
    while (asked.step()) all.push_back(read_job(asked));
    return all;
}

std::vector<std::string> sandbox_store::lose_running_jobs(double now)
{
    auto asked = db_.prepare("UPDATE jobs SET state = 'lost', ended = ? WHERE state = 'running' RETURNING id");
    asked.bind(1, now);
    return read_ids(std::move(asked));
}

std::vector<std::string> sandbox_store::all_jobs() { return read_ids(db_.prepare("SELECT id FROM jobs")); }

std::vector<std::string> sandbox_store::forget_old_jobs(std::string_view owner, std::size_t keep)
{
    auto asked = db_.prepare(
        "DELETE FROM jobs WHERE owner = ?1 AND state <> 'running' AND id NOT IN (SELECT id FROM jobs "
        "WHERE owner = ?1 AND state <> 'running' ORDER BY created DESC, rowid DESC LIMIT ?2) RETURNING id");
    asked.bind(1, owner).bind(2, static_cast<std::int64_t>(keep));
    return read_ids(std::move(asked));
}

}  // namespace cmcp
