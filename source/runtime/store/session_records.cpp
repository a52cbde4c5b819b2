#include "store/session_records.hpp"

#include <array>

namespace cmcp {

namespace {

// Never change a step that was released: add one.
constexpr std::array<const char*, 1> steps_of_sessions{
    R"(CREATE TABLE sessions (
           digest TEXT PRIMARY KEY, principal TEXT NOT NULL, address TEXT NOT NULL, profile TEXT NOT NULL,
           state TEXT NOT NULL, created REAL NOT NULL, last_used REAL NOT NULL, starts INTEGER NOT NULL)
           WITHOUT ROWID;)",
};

}  // namespace

session_records::session_records(const std::filesystem::path& file) : db_(file)
{
    migrate(db_, steps_of_sessions, "store of sessions");
    db_.execute("PRAGMA wal_autocheckpoint = 200");  // no loop waits for this file
}

std::vector<session_record> session_records::all()
{
    return db_
        .prepare(
            "SELECT digest, principal, address, profile, state, created, last_used, starts FROM sessions "
            "ORDER BY last_used, digest")
        .records<session_record>();
}

void session_records::write(const std::vector<session_record>& changed, const std::vector<std::string>& ended)
{
    transaction all(db_);
    for (const auto& each : changed)
        db_.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", each.digest, each.principal,
                    each.address, each.profile, each.state, each.created, each.last_used, each.starts)
            .run();
    for (const auto& digest : ended) db_.prepare("DELETE FROM sessions WHERE digest = ?", digest).run();
    all.commit();
}

}  // namespace cmcp
