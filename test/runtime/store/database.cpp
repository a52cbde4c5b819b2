#include "store/database.hpp"

#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <cstdlib>
#include <string>

using namespace cmcp;
using namespace cmcp::test;

namespace {

// Another process writes a row and closes the file.
bool write_elsewhere(const std::filesystem::path& file, int value)
{
    const auto program = "import sqlite3; d = sqlite3.connect('" + file.string() +
                         "'); d.execute('INSERT INTO numbers VALUES (" + std::to_string(value) +
                         ")'); d.commit(); d.close()";
    return std::system(("python3 -c \"" + program + "\"").c_str()) == 0;
}

std::int64_t sum(database& of)
{
    return std::get<0>(of.prepare("SELECT ifnull(sum(value), 0) FROM numbers").row<std::int64_t>());
}

}  // namespace

TEST_CASE("several connections of a process see what another process writes")
{
    const temporary_folder folder;
    const auto file = folder.path / "numbers.db";
    database first(file);
    first.execute("CREATE TABLE numbers (value INTEGER)");
    CHECK(sum(first) == 0);
    {
        database second(file);
        CHECK(sum(second) == 0);
        REQUIRE(write_elsewhere(file, 1));
        CHECK(sum(first) == 1);
        CHECK(sum(second) == 1);
    }
    REQUIRE(write_elsewhere(file, 2));
    CHECK(sum(first) == 3);
    first.prepare("INSERT INTO numbers VALUES (4)").run();
    database again(file);
    CHECK(sum(again) == 7);
}

TEST_CASE("a statement is compiled once, and used by several at once and after it failed")
{
    database numbers(database::in_memory);
    numbers.execute("CREATE TABLE numbers (value INTEGER UNIQUE)");
    const auto insert = [&](std::int64_t value) { numbers.prepare("INSERT INTO numbers VALUES (?1)", value).run(); };
    insert(1);
    insert(2);
    CHECK_THROWS_AS(insert(2), database_conflict);
    insert(3);

    const auto larger_than = [&](std::int64_t value) {
        return numbers.prepare("SELECT value FROM numbers WHERE value > ?1 ORDER BY value", value);
    };
    auto all = larger_than(0), last = larger_than(2);
    CHECK(last.texts() == std::vector<std::string>{"3"});
    CHECK(all.texts() == std::vector<std::string>{"1", "2", "3"});
    numbers.execute("DELETE FROM numbers");
    CHECK(larger_than(0).texts().empty());
    CHECK(std::get<0>(numbers.prepare("SELECT ?1 IS NULL").row<std::int64_t>()) == 1);
}
