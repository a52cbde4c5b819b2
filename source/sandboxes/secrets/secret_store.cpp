#include "secrets/secret_store.hpp"

#include <array>
#include <tuple>

namespace cmcp {

namespace {

// Never change a step that was released: add one.
constexpr std::array<const char*, 1> steps_of_secrets{
    R"(CREATE TABLE secrets (
           name TEXT NOT NULL, principal TEXT NOT NULL, sandbox TEXT NOT NULL, hosts TEXT NOT NULL, place TEXT NOT NULL,
           sealed TEXT NOT NULL, created REAL NOT NULL, used REAL NOT NULL, PRIMARY KEY (name, principal, sandbox));)",
};

}  // namespace

secret_store::secret_store(const std::filesystem::path& file) : db_(file)
{
    db_.execute("PRAGMA secure_delete = ON");
    migrate(db_, steps_of_secrets, "store of secrets");
}

// A file about which nothing can be learned is not taken for none: opening it says why.
std::unique_ptr<secret_store> secret_store::existing(const std::filesystem::path& sandbox_root)
{
    const auto file = file_in(sandbox_root);
    std::error_code unreadable;
    const bool is_there = std::filesystem::exists(file, unreadable) || unreadable;
    return is_there ? std::make_unique<secret_store>(file) : nullptr;
}

void secret_store::set(const secret_record& secret)
{
    transaction change(db_);
    remove(secret.name, secret.principal, secret.sandbox);
    db_.insert("secrets", secret);
    change.commit();
}

bool secret_store::remove(std::string_view name, std::string_view principal, std::string_view sandbox)
{
    db_.prepare("DELETE FROM secrets WHERE name = ?1 AND principal = ?2 AND sandbox = ?3", name, principal, sandbox)
        .run();
    return db_.changes() != 0;
}

std::vector<secret_record> secret_store::all()
{
    return db_.prepare("SELECT * FROM secrets ORDER BY name, principal, sandbox").records<secret_record>();
}

void secret_store::note_use(const secret_record& secret, double now)
{
    db_.prepare("UPDATE secrets SET used = ?4 WHERE name = ?1 AND principal = ?2 AND sandbox = ?3", secret.name,
                secret.principal, secret.sandbox, now)
        .run();
}

std::int64_t secret_store::version()
{
    const auto [number] = db_.prepare("PRAGMA data_version").row<std::int64_t>();
    return number;
}

}  // namespace cmcp
