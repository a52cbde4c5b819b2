#pragma once

#include "commands/text_table.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>

namespace cmcp::command {

/// A list of /admin.
struct admin_list {
    std::string_view path;
    std::string_view member;   ///< of the answer, an array
    std::string_view nothing;  ///< the sentence for an empty one
};

/// The list as the answer's columns say; rows of several servers begin with the server. `whole`: so are ids. Throws
/// std::runtime_error.
text_table table_of(const json::object& answer, std::string_view member, bool whole);

std::string count_in(const json::object& row, std::string_view name);  ///< a whole number; 0 where there is none
std::string bytes_in(const json::object& row, std::string_view name);  ///< empty where there is none

}  // namespace cmcp::command
