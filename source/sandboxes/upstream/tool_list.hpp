#pragma once

#include "config/upstream_entry.hpp"
#include "jsonrpc/json.hpp"
#include "upstream/upstream_tool.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// Puts the pages of a server's tools/list together. Tools that the entry does not offer are left out; so are those
/// that are wrong, of which `complaints` has a sentence each. No I/O.
class tool_list {
public:
    static constexpr std::size_t most_tools = 1000;
    static constexpr std::size_t most_pages = 100;
    static constexpr std::size_t longest_description = 16 * 1024;
    static constexpr std::size_t longest_title = 200;
    static constexpr std::size_t longest_schema = 64 * 1024;

    explicit tool_list(const upstream_entry& of) : of_(of) {}

    /// The cursor of the next page; empty: this was the last. Throws upstream_problem: the page is no result of
    /// tools/list.
    std::string add_page(const json::object& result);

    std::vector<upstream_tool> tools;
    std::vector<std::string> complaints;  ///< at most ten and one that counts the rest

private:
    void add(const json::value& listed);
    std::string wrong_with(const json::object& tool, const std::string& name);
    void complain(std::string about);

    const upstream_entry& of_;
    std::set<std::string> names_;
    std::set<std::string> cursors_;
    std::size_t pages_ = 0;
    std::size_t seen_ = 0;
    std::size_t untold_ = 0;
};

/// Header fields that repeat arguments, as the input schema says with `x-mcp-header` (revision 2026-07-28).
std::vector<std::pair<std::string, std::string>> repeated_arguments(const json::object& input_schema,
                                                                    const json::object& arguments);

}  // namespace cmcp
