#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::connect {

/// A statement of a TOML text: a header of a table or `key = value`, over as many lines as it takes.
struct toml_statement {
    std::size_t begin = 0;
    std::size_t end = 0;             ///< behind it, without a comment
    std::vector<std::string> table;  ///< in which it stands; of a header the table that it names
    std::vector<std::string> key;    ///< relative to the table; empty: a header
    bool is_list_header = false;     ///< [[name]]
};

/// The statements of a text that is known to be TOML, in its order.
std::vector<toml_statement> scan_toml(std::string_view text);

}  // namespace cmcp::connect
