#include "store/job_store.hpp"

#include "store/migrations.hpp"

namespace cmcp {

namespace {

// The time is the first value of each statement.
constexpr const char* not_expired = "(keep = 0 OR ended = 0 OR ended + keep > ?1) ";

job_record read_job(const statement& row)
{
    job_record record;
    record.id = row.text(0);
    record.owner = row.text(1);
    record.sandbox = row.text(2);
    record.tool = row.text(3);
    record.label = row.text(4);
    record.state = row.text(5);
    record.created = row.real(6);
    record.ended = row.real(7);
    record.keep = row.real(8);
    record.message = row.text(9);
    record.error = row.text(10);
    record.result = row.text(11);
    return record;
}

std::vector<std::string> read_ids(statement rows)
{
    std::vector<std::string> ids;
    while (rows.step()) ids.push_back(rows.text(0));
    return ids;
}

}  // namespace

job_store::job_store(const std::filesystem::path& file) : db_(file) { migrate(db_); }

void job_store::insert(const job_record& record)
{
    auto row = db_.prepare("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)");
    row.bind(1, record.id).bind(2, record.owner).bind(3, record.sandbox).bind(4, record.tool).bind(5, record.label);
    row.bind(6, record.state).bind(7, record.created).bind(8, record.ended).bind(9, record.keep);
    row.bind(10, record.message).bind(11, record.error).bind(12, record.result).run();
}

void job_store::finish(const job_record& record)
{
    auto row = db_.prepare(
        "UPDATE jobs SET state = ?2, ended = ?3, message = ?4, error = ?5, result = ?6, bytes = ?7 WHERE id = ?1");
    row.bind(1, record.id).bind(2, record.state).bind(3, record.ended).bind(4, record.message);
    row.bind(5, record.error).bind(6, record.result).bind(7, static_cast<std::int64_t>(record.result.size())).run();
}

void job_store::remove(std::string_view id) { db_.prepare("DELETE FROM jobs WHERE id = ?").bind(1, id).run(); }

std::optional<job_record> job_store::find(std::string_view id, double now)
{
    auto row = db_.prepare(
        std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, error, result "
                    "FROM jobs WHERE id = ?2 AND ") +
        not_expired);
    row.bind(1, now).bind(2, id);
    if (!row.step()) return std::nullopt;
    return read_job(row);
}

std::vector<job_record> job_store::list(std::string_view owner, double now)
{
    auto rows =
        db_.prepare(std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, '', '' "
                                "FROM jobs WHERE owner = ?2 AND ") +
                    not_expired + "ORDER BY created DESC, rowid DESC");
    rows.bind(1, now).bind(2, owner);
    std::vector<job_record> records;
    while (rows.step()) records.push_back(read_job(rows));
    return records;
}

job_usage job_store::usage(std::string_view owner, double now)
{
    auto row = db_.prepare(
        std::string("SELECT total(owner = ?2), count(*), total(bytes) FROM jobs WHERE keep > 0 AND ") + not_expired);
    row.bind(1, now).bind(2, owner).step();
    return {static_cast<std::size_t>(row.real(0)), static_cast<std::size_t>(row.integer(1)),
            static_cast<std::uint64_t>(row.real(2))};
}

std::vector<std::string> job_store::all() { return read_ids(db_.prepare("SELECT id FROM jobs")); }

void job_store::lose_running(double now, std::string_view message)
{
    auto rows = db_.prepare("UPDATE jobs SET state = 'lost', ended = ?, message = ? WHERE state = 'running'");
    rows.bind(1, now).bind(2, message).run();
}

std::vector<std::string> job_store::forget_expired(double now)
{
    auto rows = db_.prepare(std::string("DELETE FROM jobs WHERE NOT ") + not_expired + "RETURNING id");
    rows.bind(1, now);
    return read_ids(std::move(rows));
}

std::vector<std::string> job_store::forget_old(std::string_view owner, std::size_t keep)
{
    auto rows = db_.prepare(
        "DELETE FROM jobs WHERE owner = ?1 AND keep = 0 AND state <> 'running' AND id NOT IN (SELECT id FROM jobs "
        "WHERE owner = ?1 AND keep = 0 AND state <> 'running' ORDER BY created DESC, rowid DESC LIMIT ?2) "
        "RETURNING id");
    rows.bind(1, owner).bind(2, static_cast<std::int64_t>(keep));
    return read_ids(std::move(rows));
}

}  // namespace cmcp
