#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace cmcp {

/// SQLite refused; what() holds its message.
struct database_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A row would break a UNIQUE constraint.
struct database_conflict : database_error {
    using database_error::database_error;
};

class database;
class compiled_statements;

/// A compiled SQL statement with its values. A row is read as a tuple of its columns, or as a Record, whose columns()
/// ties its members in the order of the columns. Throws database_error.
class statement {
public:
    void run();                        ///< to its end, without rows
    std::vector<std::string> texts();  ///< the first column of all rows

    template <class... Values>
    std::tuple<Values...> row()  ///< the only row
    {
        std::tuple<Values...> values;
        if (step()) read(values);
        return values;
    }

    template <class Record>
    std::vector<Record> records()
    {
        std::vector<Record> all;
        while (step()) read(all.emplace_back().columns());
        return all;
    }

    template <class Record>
    std::optional<Record> record()
    {
        if (!step()) return std::nullopt;
        Record first;
        read(first.columns());
        return first;
    }

private:
    friend class database;
    template <class Columns>
    void read(Columns&& columns) const
    {
        int column = 0;
        std::apply([&](auto&... values) { (take(column++, values), ...); }, columns);
    }
    bool step();  // true: there is a row
    void take(int column, std::uint64_t& value) const;
    void take(int column, std::int64_t& value) const;
    void take(int column, double& value) const;
    void take(int column, std::string& value) const;
    void take(int column, bool& value) const;
    /// Gives it back to its connection, which has it ready for the next one with the same text.
    struct closer {
        compiled_statements* from = nullptr;
        void operator()(sqlite3_stmt* item) const;
    };
    statement(sqlite3* of, compiled_statements& ready, std::string_view sql);
    void bind(int index, std::int64_t value);
    void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
    // A template, because a literal would rather become a bool than a string_view.
    template <std::same_as<bool> B>
    void bind(int index, B value)
    {
        bind(index, std::int64_t{value});
    }
    void bind(int index, double value);
    void bind(int index, std::string_view value);

    sqlite3* of_;
    std::unique_ptr<sqlite3_stmt, closer> item_;
};

/// A connection to an SQLite file in WAL mode with foreign keys. A commit is written to the operating system, so that
/// it survives the end of this process at any moment; checkpoint() brings it to the disk and may block.
/// Several processes may have the same file open. Used by one thread at a time.
class database {
public:
    static constexpr const char* in_memory = ":memory:";  ///< instead of a file: the tables end with the object

    /// Opens or makes the file (mode 0600). Throws database_error.
    explicit database(const std::filesystem::path& file);
    ~database();

    /// `values` are those of ?1, ?2, …: whole numbers, double or text. What is compiled stays with the connection, so
    /// the text must be one of a few, with all that varies in `values`. The statement ends before the database.
    template <class... Values>
    statement prepare(std::string_view sql, const Values&... values)
    {
        statement compiled(item_.get(), *ready_, sql);
        int index = 0;
        (compiled.bind(++index, values), ...);
        return compiled;
    }

    /// Adds a row: the record's columns(), then `further` values (SQL).
    template <class Record>
    void insert(const std::string& into, Record record, const std::string& further = {})
    {
        const auto add = [&](const auto&... values) {
            std::string placeholders;
            ((static_cast<void>(values), placeholders += placeholders.empty() ? "?" : ", ?"), ...);
            prepare("INSERT INTO " + into + " VALUES (" + placeholders + further + ")", values...).run();
        };
        std::apply(add, record.columns());
    }

    void execute(const char* sql);  ///< statements without values
    std::int64_t changes() const;   ///< rows that the last statement changed

    std::int64_t version();  ///< PRAGMA user_version
    void checkpoint();       ///< moves the log into the file, as far as readers allow; blocks on the disk

private:
    struct closer {
        void operator()(sqlite3* item) const;
    };
    std::unique_ptr<sqlite3, closer> item_;
    std::unique_ptr<compiled_statements> ready_;  // ends before the connection
};

/// A transaction: rolled back by its destructor unless commit() was called.
class transaction {
public:
    explicit transaction(database& of);
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction();
    void commit();

private:
    database& of_;
    bool open_ = true;
};

/// Brings the tables to the newest form: the steps (SQL) that the file does not have yet, one a transaction. Throws
/// database_error when a newer version of this program wrote the file; `named`: "sandbox store".
void migrate(database& store, std::span<const char* const> steps, const char* named);

/// The steps of the sandbox store.
void migrate(database& store);

}  // namespace cmcp
