#pragma once

#include "backup/principal_choice.hpp"

#include <filesystem>

namespace cmcp::backup {

bool is_database(const std::filesystem::path& file);  ///< an SQLite file

/// A copy of a database that others write meanwhile, of one moment and without their logs; rows of principals that are
/// not chosen are not in it. Throws database_error.
void copy_database(const std::filesystem::path& from, const std::filesystem::path& to, const principal_choice& whose);

}  // namespace cmcp::backup
