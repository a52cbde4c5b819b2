#pragma once

#include "commands/text_table.hpp"
#include "jsonrpc/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::command {

/// A list of /admin: its place, and its form for people.
struct admin_list {
    std::string_view path;
    std::string_view member;  ///< of the answer, an array
    std::vector<text_table::column> columns;
    std::vector<std::string> (*cells)(const json::object& row);
    std::string_view nothing;  ///< the sentence for an empty one
};

extern const admin_list run_list, sandbox_list, session_list, job_list, usage_list, end_list, member_list,
    upstream_list;

std::string count_in(const json::object& row, std::string_view name);  ///< a whole number; 0 where there is none
std::string bytes_in(const json::object& row, std::string_view name);  ///< empty where there is none

}  // namespace cmcp::command
