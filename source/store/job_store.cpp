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

}  // namespace

job_store::job_store(const std::filesystem::path& file) : db_(file) { migrate(db_); }

void job_store::insert(const job_record& record)
{
    db_.prepare("INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)", record.id, record.owner,
                record.sandbox, record.tool, record.label, record.state, record.created, record.ended, record.keep,
                record.message, record.error, record.result)
        .run();
}

void job_store::finish(const job_record& record)
{
    db_.prepare(
           "UPDATE jobs SET state = ?2, ended = ?3, message = ?4, error = ?5, result = ?6, bytes = ?7 WHERE id = ?1",
           record.id, record.state, record.ended, record.message, record.error, record.result,
           static_cast<std::int64_t>(record.result.size()))
        .run();
}

void job_store::remove(std::string_view id) { db_.prepare("DELETE FROM jobs WHERE id = ?", id).run(); }

std::optional<job_record> job_store::find(std::string_view id, double now)
{
    auto row = db_.prepare(
        std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, error, result "
                    "FROM jobs WHERE id = ?2 AND ") +
            not_expired,
        now, id);
    if (!row.step()) return std::nullopt;
    return read_job(row);
}

std::vector<job_record> job_store::list(std::string_view owner, double now)
{
    auto rows =
        db_.prepare(std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, '', '' "
                                "FROM jobs WHERE owner = ?2 AND ") +
                        not_expired + "ORDER BY created DESC, rowid DESC",
                    now, owner);
    std::vector<job_record> records;
    while (rows.step()) records.push_back(read_job(rows));
    return records;
}

job_usage job_store::usage(std::string_view owner, double now)
{
    auto row = db_.prepare(
        std::string("SELECT total(owner = ?2), count(*), total(bytes) FROM jobs WHERE keep > 0 AND ") + not_expired,
        now, owner);
    row.step();
    return {static_cast<std::size_t>(row.real(0)), static_cast<std::size_t>(row.integer(1)),
            static_cast<std::uint64_t>(row.real(2))};
}

std::vector<std::string> job_store::all() { return db_.prepare("SELECT id FROM jobs").texts(); }

void job_store::lose_running(double now, std::string_view message)
{
    db_.prepare("UPDATE jobs SET state = 'lost', ended = ?, message = ? WHERE state = 'running'", now, message).run();
}

std::vector<std::string> job_store::forget_expired(double now)
{
    return db_.prepare(std::string("DELETE FROM jobs WHERE NOT ") + not_expired + "RETURNING id", now).texts();
}

std::vector<std::string> job_store::forget_old(std::string_view owner, std::size_t keep)
{
    return db_
        .prepare(
            "DELETE FROM jobs WHERE owner = ?1 AND keep = 0 AND state <> 'running' AND id NOT IN (SELECT id FROM jobs "
            "WHERE owner = ?1 AND keep = 0 AND state <> 'running' ORDER BY created DESC, rowid DESC LIMIT ?2) "
            "RETURNING id",
            owner, static_cast<std::int64_t>(keep))
        .texts();
}

}  // namespace cmcp
