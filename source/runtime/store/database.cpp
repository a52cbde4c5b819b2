#include "store/database.hpp"

#include <sqlite3.h>

#include <functional>
#include <unordered_map>

#include <fcntl.h>
#include <unistd.h>

namespace cmcp {

namespace {

constexpr int patience_ms = 5000;  // another process of this server writes for microseconds at a time

[[noreturn]] void fail(sqlite3* of, int code)
{
    const std::string message = of != nullptr ? sqlite3_errmsg(of) : sqlite3_errstr(code);
    const int extended = of != nullptr ? sqlite3_extended_errcode(of) : code;
    if (extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY)
        throw database_conflict(message);
    throw database_error(message);
}

void check(sqlite3* of, int code)
{
    if (code != SQLITE_OK) fail(of, code);
}

// SQLite would make the file readable for all users of the machine. One that is there must not be opened, because its
// closing would end the locks that other connections of this process have (fcntl(2)), and with them their log.
void make_private(const std::filesystem::path& file)
{
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
}

}  // namespace

// Compiling a statement costs several times as much as running it, and each call of a tool runs some. Statements by
// their texts, those that nobody uses now; two of one text may be in use at once.
class compiled_statements {
public:
    compiled_statements() = default;
    compiled_statements(const compiled_statements&) = delete;
    compiled_statements& operator=(const compiled_statements&) = delete;
    ~compiled_statements()
    {
        for (const auto& [text, item] : unused_) sqlite3_finalize(item);
    }

    sqlite3_stmt* take(sqlite3* of, std::string_view sql)
    {
        if (const auto it = unused_.find(sql); it != unused_.end()) return unused_.extract(it).mapped();
        sqlite3_stmt* item = nullptr;
        check(of, sqlite3_prepare_v2(of, sql.data(), static_cast<int>(sql.size()), &item, nullptr));
        return item;
    }

    // An error of its last step has been reported already; here it would be reported again.
    void give_back(sqlite3_stmt* item)
    {
        sqlite3_reset(item);
        sqlite3_clear_bindings(item);
        unused_.emplace(sqlite3_sql(item), item);
    }

private:
    struct hash_of_text : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_multimap<std::string, sqlite3_stmt*, hash_of_text, std::equal_to<>> unused_;
};

void statement::closer::operator()(sqlite3_stmt* item) const { from->give_back(item); }
void database::closer::operator()(sqlite3* item) const { sqlite3_close_v2(item); }

statement::statement(sqlite3* of, compiled_statements& ready, std::string_view sql)
    : of_(of), item_(ready.take(of, sql), closer{&ready})
{
}

void statement::bind(int index, std::int64_t value) { check(of_, sqlite3_bind_int64(item_.get(), index, value)); }

void statement::bind(int index, double value) { check(of_, sqlite3_bind_double(item_.get(), index, value)); }

void statement::bind(int index, std::string_view value)
{
    const auto size = static_cast<int>(value.size());
    check(of_, sqlite3_bind_text(item_.get(), index, value.data(), size, SQLITE_TRANSIENT));
}

bool statement::step()
{
    const int code = sqlite3_step(item_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(of_, code);
    return code == SQLITE_ROW;
}

void statement::run()
{
    while (step()) {
    }
}

std::vector<std::string> statement::texts()
{
    std::vector<std::string> all;
    while (step()) take(0, all.emplace_back());
    return all;
}

void statement::take(int column, std::int64_t& value) const { value = sqlite3_column_int64(item_.get(), column); }

void statement::take(int column, std::uint64_t& value) const
{
    value = static_cast<std::uint64_t>(sqlite3_column_int64(item_.get(), column));
}

void statement::take(int column, bool& value) const { value = sqlite3_column_int64(item_.get(), column) != 0; }

void statement::take(int column, double& value) const { value = sqlite3_column_double(item_.get(), column); }

void statement::take(int column, std::string& value) const
{
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(item_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(item_.get(), column));
    value = bytes == nullptr ? std::string() : std::string(bytes, size);
}

database::database(const std::filesystem::path& file) : ready_(std::make_unique<compiled_statements>())
{
    if (file != in_memory) make_private(file);
    sqlite3* opened = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
    item_.reset(opened);
    if (code != SQLITE_OK)
        throw database_error(file.string() + ": " + (opened ? sqlite3_errmsg(opened) : sqlite3_errstr(code)));
    sqlite3_extended_result_codes(opened, 1);
    sqlite3_busy_timeout(opened, patience_ms);
    execute("PRAGMA journal_mode = WAL");
    execute("PRAGMA synchronous = NORMAL");  // no wait for the disk in a commit, only in a checkpoint
    execute("PRAGMA wal_autocheckpoint = 0");
    execute("PRAGMA foreign_keys = ON");
}

database::~database() = default;

void database::execute(const char* sql)
{
    check(item_.get(), sqlite3_exec(item_.get(), sql, nullptr, nullptr, nullptr));
}

std::int64_t database::changes() const { return sqlite3_changes(item_.get()); }

std::int64_t database::version() { return std::get<0>(prepare("PRAGMA user_version").row<std::int64_t>()); }

void database::checkpoint()
{
    sqlite3_wal_checkpoint_v2(item_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

transaction::transaction(database& of) : of_(of) { of_.execute("BEGIN IMMEDIATE"); }

transaction::~transaction()
{
    if (!open_) return;
    try {
        of_.execute("ROLLBACK");
    } catch (const database_error&) {
        // SQLite has rolled back already where the statement itself failed.
    }
}

void transaction::commit()
{
    of_.execute("COMMIT");
    open_ = false;
}

}  // namespace cmcp
