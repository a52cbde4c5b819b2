#include "identity/identity_store.hpp"

#include "text/time_text.hpp"

#include <array>

namespace cmcp {

namespace {

// Never change a step that was released: add one.
constexpr std::array<const char*, 3> steps{
    R"(CREATE TABLE keys (
           id TEXT PRIMARY KEY, digest TEXT NOT NULL, principal TEXT NOT NULL, note TEXT NOT NULL, scopes TEXT NOT NULL,
           profile TEXT NOT NULL, networks TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL,
           revoked REAL NOT NULL, used REAL NOT NULL);
       CREATE TABLE links (
           issuer TEXT NOT NULL, subject TEXT NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (issuer, subject));)",
    R"(CREATE TABLE limits (
           principal TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (principal, name));)",
    R"(ALTER TABLE limits ADD COLUMN changed REAL NOT NULL DEFAULT 0;
       ALTER TABLE limits ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;)",
};

}  // namespace

identity_store::identity_store(const std::filesystem::path& file) : db_(file) { migrate(db_, steps, "store of keys"); }

// A file about which nothing can be learned is not taken for none: opening it says why.
std::unique_ptr<identity_store> identity_store::existing(const std::filesystem::path& sandbox_root)
{
    const auto file = file_in(sandbox_root);
    std::error_code unreadable;
    const bool is_there = std::filesystem::exists(file, unreadable) || unreadable;
    return is_there ? std::make_unique<identity_store>(file) : nullptr;
}

void identity_store::add(const key_record& key) { db_.insert("keys", key); }

std::optional<key_record> identity_store::find(std::string_view id)
{
    return db_.prepare("SELECT * FROM keys WHERE id = ?1", id).record<key_record>();
}

std::vector<key_record> identity_store::keys()
{
    return db_.prepare("SELECT * FROM keys ORDER BY created, id").records<key_record>();
}

bool identity_store::has_keys()
{
    const auto [count] = db_.prepare("SELECT EXISTS (SELECT 1 FROM keys)").row<std::int64_t>();
    return count != 0;
}

bool identity_store::revoke(std::string_view id, double now)
{
    db_.prepare("UPDATE keys SET revoked = ?2 WHERE id = ?1 AND revoked = 0", id, now).run();
    return db_.changes() != 0;
}

void identity_store::note_use(std::string_view id, double now)
{
    db_.prepare("UPDATE keys SET used = ?2 WHERE id = ?1", id, now).run();
}

void identity_store::link(const linked_subject& one)
{
    db_.prepare("INSERT OR REPLACE INTO links VALUES (?1, ?2, ?3)", one.issuer, one.subject, one.principal).run();
}

bool identity_store::unlink(std::string_view issuer, std::string_view subject)
{
    db_.prepare("DELETE FROM links WHERE issuer = ?1 AND subject = ?2", issuer, subject).run();
    return db_.changes() != 0;
}

std::string identity_store::principal_of(std::string_view issuer, std::string_view subject)
{
    const auto [principal] =
        db_.prepare("SELECT ifnull((SELECT principal FROM links WHERE issuer = ?1 AND subject = ?2), '')", issuer,
                    subject)
            .row<std::string>();
    return principal;
}

std::vector<linked_subject> identity_store::links()
{
    return db_.prepare("SELECT * FROM links ORDER BY principal, issuer, subject").records<linked_subject>();
}

// A clock that goes back makes no change older than the one before.
void identity_store::set_limit(const stored_limit& one)
{
    db_.prepare(R"(INSERT INTO limits VALUES (?1, ?2, ?3, ?4, 0) ON CONFLICT DO UPDATE SET
                       value = ?3, changed = max(?4, changed + 0.001), cleared = 0)",
                one.principal, one.name, one.value, seconds_since_1970())
        .run();
}

bool identity_store::clear_limit(std::string_view principal, std::string_view name)
{
    db_.prepare(R"(UPDATE limits SET value = 0, changed = max(?3, changed + 0.001), cleared = 1
                   WHERE principal = ?1 AND name = ?2 AND cleared = 0)",
                principal, name, seconds_since_1970())
        .run();
    return db_.changes() != 0;
}

std::vector<stored_limit> identity_store::limits_of(std::string_view principal)
{
    return db_.prepare("SELECT * FROM limits WHERE principal = ?1 AND cleared = 0", principal).records<stored_limit>();
}

std::vector<stored_limit> identity_store::limits()
{
    return db_.prepare("SELECT * FROM limits WHERE cleared = 0 ORDER BY principal, name").records<stored_limit>();
}

std::vector<stored_limit> identity_store::limit_changes()
{
    return db_.prepare("SELECT * FROM limits WHERE changed > 0 ORDER BY principal, name").records<stored_limit>();
}

// Of two changes at the same moment all servers take the same.
bool identity_store::take_limit(const stored_limit& one)
{
    db_.prepare(R"(INSERT INTO limits VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET
                       value = ?3, changed = ?4, cleared = ?5
                   WHERE (?4, ?5, ?3) > (changed, cleared, value))",
                one.principal, one.name, one.value, one.changed, one.cleared)
        .run();
    return db_.changes() != 0;
}

std::int64_t identity_store::version()
{
    const auto [version] = db_.prepare("PRAGMA data_version").row<std::int64_t>();
    return version;
}

}  // namespace cmcp
