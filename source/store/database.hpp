#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// A compiled SQL statement with its values. Columns are read by position, from 0.
class statement {
public:
    bool step();                       ///< true: there is a row; throws database_error
    void run();                        ///< to its end, without rows
    std::vector<std::string> texts();  ///< the first column of all rows

    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string text(int column) const;

private:
    friend class database;
    struct closer {
        void operator()(sqlite3_stmt* item) const;
    };
    statement(sqlite3* of, std::string_view sql);
    void bind(int place, std::int64_t value);
    void bind(int place, double value);
    void bind(int place, std::string_view value);

    sqlite3* of_;
    std::unique_ptr<sqlite3_stmt, closer> item_;
};

/// A connection to an SQLite file in WAL mode with foreign keys. A commit is written to the operating system, so that
/// it survives the end of this process at any moment; checkpoint() brings it to the disk and may block.
/// Several processes may have the same file open. Used by one thread at a time.
class database {
public:
    static constexpr const char* in_memory = ":memory:";  ///< in place of a file: the tables end with the object

    /// Opens or makes the file (mode 0600). Throws database_error.
    explicit database(const std::filesystem::path& file);

    /// `values` are those of ?1, ?2, …: std::int64_t, double or text.
    template <class... Values>
    statement prepare(std::string_view sql, const Values&... values)
    {
        statement compiled(item_.get(), sql);
        int place = 0;
        (compiled.bind(++place, values), ...);
        return compiled;
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

}  // namespace cmcp
