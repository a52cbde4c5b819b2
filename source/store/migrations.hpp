#pragma once

#include "store/database.hpp"

namespace cmcp {

/// Brings the tables of the sandbox store to the newest form, one step a transaction. Throws database_error when the
/// file was written by a newer version of this program.
void migrate(database& store);

}  // namespace cmcp
