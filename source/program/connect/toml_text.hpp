#pragma once

#include "connect/bad_text.hpp"
#include "jsonrpc/json.hpp"

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

/// The TOML text of a file that people edit: tables are set and removed, the rest stays as it is.
class toml_text {
public:
    using path = std::vector<std::string>;

    /// Throws bad_text.
    explicit toml_text(std::string text);

    bool has(const path& table) const;

    /// The table with these members (texts, lists of texts, objects of texts). Of one that is there the other members
    /// stay, unless `managed` names them. Throws bad_text where the table is written in a way that cannot be edited.
    void set(const path& table, const json::object& members, const std::vector<std::string>& managed);

    /// False: there was no such table.
    bool remove(const path& table);

    const std::string& text() const { return text_; }

private:
    void check() const;
    void check_form(const path& table) const;
    void cut(const std::vector<toml_statement>& statements);
    void append(const std::string& lines, const path& beside);

    std::string text_;
    std::string newline_ = "\n";
};

}  // namespace cmcp::connect
