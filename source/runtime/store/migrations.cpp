#include "store/database.hpp"

#include <array>
#include <string>

namespace cmcp {

namespace {

// Never change a step that was released: add one.
constexpr std::array<const char*, 13> steps{
    R"(CREATE TABLE sandboxes (
           id TEXT PRIMARY KEY, owner TEXT NOT NULL, session TEXT NOT NULL, name TEXT NOT NULL, image TEXT NOT NULL,
           status TEXT NOT NULL, created REAL NOT NULL, last_used REAL NOT NULL, disk INTEGER NOT NULL);
       CREATE UNIQUE INDEX sandbox_names ON sandboxes (owner, name) WHERE status <> 'deleting';
       CREATE TABLE packages (
           sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE, name TEXT NOT NULL,
           version TEXT NOT NULL, PRIMARY KEY (sandbox, name));)",
    R"(CREATE TABLE jobs (
           id TEXT PRIMARY KEY, owner TEXT NOT NULL, sandbox TEXT NOT NULL, tool TEXT NOT NULL, label TEXT NOT NULL,
           state TEXT NOT NULL, created REAL NOT NULL, ended REAL NOT NULL, result TEXT NOT NULL);
       CREATE INDEX job_owners ON jobs (owner, created);)",
    R"(CREATE TABLE snapshots (
           id TEXT PRIMARY KEY, owner TEXT NOT NULL, sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
           name TEXT NOT NULL, created REAL NOT NULL, disk INTEGER NOT NULL, UNIQUE (sandbox, name));)",
    // The result comes last, because SQLite reads all columns before the one that it is asked for.
    R"(CREATE TABLE kept_jobs (
           id TEXT PRIMARY KEY, owner TEXT NOT NULL, sandbox TEXT NOT NULL, tool TEXT NOT NULL, label TEXT NOT NULL,
           state TEXT NOT NULL, created REAL NOT NULL, ended REAL NOT NULL, keep REAL NOT NULL, bytes INTEGER NOT NULL,
           message TEXT NOT NULL, error TEXT NOT NULL, result TEXT NOT NULL);
       INSERT INTO kept_jobs SELECT id, owner, sandbox, tool, label, state, created, ended, 0, 0, '', '',
           CASE result WHEN '' THEN '' ELSE '{"content":[],"structuredContent":' || result || '}' END
           FROM jobs ORDER BY rowid;
       DROP TABLE jobs;
       ALTER TABLE kept_jobs RENAME TO jobs;
       CREATE INDEX job_owners ON jobs (owner, created);)",
    "ALTER TABLE sandboxes ADD COLUMN passing INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE sandboxes ADD COLUMN network TEXT NOT NULL DEFAULT '';",
    R"(ALTER TABLE sandboxes ADD COLUMN home TEXT NOT NULL DEFAULT '';
       CREATE UNIQUE INDEX sandbox_homes ON sandboxes (home) WHERE home <> '' AND status <> 'deleting';)",
    "ALTER TABLE sandboxes ADD COLUMN labels TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE sandboxes ADD COLUMN terms TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE sandboxes ADD COLUMN machine INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE sandboxes ADD COLUMN user TEXT NOT NULL DEFAULT '';",
    R"(ALTER TABLE sandboxes ADD COLUMN lease_ends REAL NOT NULL DEFAULT 0;
       ALTER TABLE sandboxes ADD COLUMN lease_length REAL NOT NULL DEFAULT 0;
       ALTER TABLE sandboxes ADD COLUMN lease_deletes INTEGER NOT NULL DEFAULT 0;)",
    "ALTER TABLE sandboxes ADD COLUMN services TEXT NOT NULL DEFAULT '';",
};

}  // namespace

void migrate(database& store, std::span<const char* const> all, const char* named)
{
    const auto newest = static_cast<std::int64_t>(all.size());
    if (store.version() > newest)
        throw database_error("the " + std::string(named) +
                             " was written by a newer version of container-mcp; run that version, or set "
                             "SANDBOX_ROOT to another folder");
    for (;;) {
        transaction step(store);
        const auto at = store.version();  // within the transaction: another process may be migrating, too
        if (at >= newest) return step.commit();
        store.execute(all[static_cast<std::size_t>(at)]);
        store.execute(("PRAGMA user_version = " + std::to_string(at + 1)).c_str());
        step.commit();
    }
}

void migrate(database& store) { migrate(store, steps, "sandbox store"); }

}  // namespace cmcp
