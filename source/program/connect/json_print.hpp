#pragma once

#include "jsonrpc/json.hpp"

#include <string>

namespace cmcp::connect {

struct print_style {
    std::string indent{};     ///< of the line on which the value begins
    std::string unit = "  ";  ///< that each level adds
    std::string newline = "\n";
    bool one_line = false;
};

/// JSON for people: a member a line, lists and values on one.
std::string print_json(const json::value& value, const print_style& style);

}  // namespace cmcp::connect
