#include "store/job_store.hpp"

namespace cmcp {

namespace {

// The time is the first value of each statement.
constexpr const char* not_expired = "(keep = 0 OR ended = 0 OR ended + keep > ?1) ";

constexpr const char* job_columns =
    "id, owner, sandbox, tool, label, state, created, ended, keep, message, error, result";

}  // namespace

job_store::job_store(const std::filesystem::path& file) : db_(file) { migrate(db_); }

void job_store::insert(const job_record& record)
{
    db_.insert(std::string("jobs (") + job_columns + ", bytes)", record, ", 0");
}

void job_store::finish(const job_record& record)
{
    db_.prepare(
           "UPDATE jobs SET state = ?2, ended = ?3, message = ?4, error = ?5, result = ?6, bytes = ?7 WHERE id = ?1",
           record.id, record.state, record.ended, record.message, record.error, record.result, record.result.size())
        .run();
}

void job_store::remove(std::string_view id) { db_.prepare("DELETE FROM jobs WHERE id = ?", id).run(); }

std::optional<job_record> job_store::find(std::string_view id, double now)
{
    const auto sql = std::string("SELECT ") + job_columns + " FROM jobs WHERE id = ?2 AND " + not_expired;
    return db_.prepare(sql, now, id).record<job_record>();
}

std::vector<job_record> job_store::list(std::string_view owner, double now)
{
    auto rows =
        db_.prepare(std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, '', '' "
                                "FROM jobs WHERE owner = ?2 AND ") +
                        not_expired + "ORDER BY created DESC, rowid DESC",
                    now, owner);
    return rows.records<job_record>();
}

std::vector<job_record> job_store::latest(std::string_view owner, bool of_all, double now, std::size_t most)
{
    auto rows =
        db_.prepare(std::string("SELECT id, owner, sandbox, tool, label, state, created, ended, keep, message, '', '' "
                                "FROM jobs WHERE (?2 OR owner = ?3) AND ") +
                        not_expired + "ORDER BY created DESC, rowid DESC LIMIT ?4",
                    now, of_all, owner, most);
    return rows.records<job_record>();
}

job_usage job_store::usage(std::string_view owner, double now)
{
    auto row = db_.prepare(
        std::string("SELECT total(owner = ?2), count(*), total(bytes) FROM jobs WHERE keep > 0 AND ") + not_expired,
        now, owner);
    const auto [own, all, bytes] = row.row<std::uint64_t, std::uint64_t, std::uint64_t>();
    return {own, all, bytes};
}

std::vector<job_totals> job_store::totals(double now)
{
    const auto sql =
        std::string("SELECT owner, count(*) FROM jobs WHERE keep > 0 AND ") + not_expired + "GROUP BY owner";
    return db_.prepare(sql, now).records<job_totals>();
}

std::vector<std::string> job_store::all() { return db_.prepare("SELECT id FROM jobs").texts(); }

std::vector<std::string> job_store::owners(double now)
{
    return db_.prepare(std::string("SELECT DISTINCT owner FROM jobs WHERE ") + not_expired, now).texts();
}

bool job_store::has_any(std::string_view owner, double now)
{
    const auto sql = std::string("SELECT EXISTS (SELECT 1 FROM jobs WHERE owner = ?2 AND ") + not_expired + ")";
    return std::get<0>(db_.prepare(sql, now, owner).row<std::int64_t>()) != 0;
}

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
            owner, keep)
        .texts();
}

}  // namespace cmcp
