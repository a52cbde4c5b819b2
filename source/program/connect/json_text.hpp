#pragma once

#include "connect/bad_text.hpp"
#include "jsonrpc/json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::connect {

/// A member of an object and where it stands in the text.
struct json_member {
    std::string name;
    std::size_t begin = 0;        ///< of the name's quote
    std::size_t value_begin = 0;  ///< of the value
    std::size_t end = 0;          ///< behind the value
};

/// An object and where it stands in the text.
struct json_span {
    std::size_t open = 0;   ///< of the brace
    std::size_t close = 0;  ///< of the other brace
    std::vector<json_member> members;
};

/// The following take text that is known to be JSON, with comments or without.

/// Behind white space and comments from `at` on.
std::size_t skip_blank(std::string_view text, std::size_t at);

/// The object whose brace is at `open`.
json_span scan_object(std::string_view text, std::size_t open);

/// The JSON object of a file that people edit: a change leaves the rest of the text as it is, with its comments, its
/// order and its indentation. Text of white space alone counts as an empty object.
class json_text {
public:
    using path = std::vector<std::string>;  ///< names of members, from the outermost on

    /// `comments`: those of JSON with comments, and commas behind the last member. Throws bad_text.
    json_text(std::string text, bool comments);

    std::optional<json::value> find(const path& where) const;

    /// Makes the objects on the way that are missing. Throws bad_text where something else than an object is in the
    /// way.
    void set(const path& where, const json::value& value);

    /// False: there was no such member.
    bool remove(const path& where);

    const std::string& text() const { return text_; }

private:
    struct place;

    void check();
    place reach(const path& where) const;
    void insert(const json_span& into, const std::string& name, const json::value& value);
    void insert_first(const json_span& into, const std::string& member);
    void erase(const json_span& from, std::size_t index);
    std::string indent_at(std::size_t at) const;
    std::string member_indent(const json_span& of) const;
    bool on_one_line(const json_span& of) const;

    std::string text_;
    bool comments_;
    json::value parsed_;
    std::string unit_ = "  ";     ///< of indentation
    std::string newline_ = "\n";  ///< as the file has it
};

}  // namespace cmcp::connect
