#include "backup/database_copy.hpp"

#include "store/database.hpp"

#include <array>
#include <fstream>
#include <tuple>

namespace cmcp::backup {

namespace {

constexpr std::string_view magic_of_database("SQLite format 3\0", 16);

/// A column that says whose a row is.
struct owner_column {
    std::string table;
    std::string column;

    auto columns() { return std::tie(table, column); }
};

// Removed rows would stay readable in free pages, so the file is written anew.
void remove_others(database& copy, const principal_choice& whose)
{
    const auto owners = copy.prepare(
                                "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p "
                                "WHERE m.type = 'table' AND p.name IN ('owner', 'principal')")
                            .records<owner_column>();
    for (const auto& [table, column] : owners) {
        const auto names = copy.prepare("SELECT DISTINCT " + column + " FROM " + table).texts();
        for (const auto& name : names)
            if (!whose.has(name)) copy.prepare("DELETE FROM " + table + " WHERE " + column + " = ?1", name).run();
    }
    copy.execute("PRAGMA journal_mode = DELETE; VACUUM");
}

}  // namespace

bool is_database(const std::filesystem::path& file)
{
    std::array<char, magic_of_database.size()> beginning{};
    std::ifstream in(file, std::ios::binary);
    in.read(beginning.data(), beginning.size());
    return in && std::string_view(beginning.data(), beginning.size()) == magic_of_database;
}

void copy_database(const std::filesystem::path& from, const std::filesystem::path& to, const principal_choice& whose)
{
    database(from).prepare("VACUUM INTO ?1", std::string_view(to.native())).run();
    if (whose.everybody()) return;
    database copy(to);
    remove_others(copy, whose);
}

}  // namespace cmcp::backup
