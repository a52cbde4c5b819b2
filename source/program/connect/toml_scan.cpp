#include "connect/toml_scan.hpp"

#include "text/toml_library.hpp"

#include <algorithm>

namespace cmcp::connect {

namespace {

using names = std::vector<std::string>;

std::size_t skip_toml_comment(std::string_view text, std::size_t at)
{
    return std::min(text.find('\n', at), text.size());
}

std::size_t skip_toml_string(std::string_view text, std::size_t at)
{
    const char quote = text[at];
    const bool is_long = text.substr(at, 3) == std::string(3, quote);
    const std::string end(is_long ? 3 : 1, quote);
    for (at += end.size(); at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (text.substr(at, end.size()) == end) {
            at += end.size();
            // A long string may end with one or two quotes of its own.
            while (is_long && at < text.size() && text[at] == quote) ++at;
            return at;
        }
    }
    return text.size();
}

// Behind a statement: its line's end or its comment, outside of strings and brackets.
std::size_t skip_statement(std::string_view text, std::size_t at)
{
    std::size_t depth = 0;
    while (at < text.size()) {
        const char c = text[at];
        if ((c == '\n' || c == '#') && depth == 0) break;
        if (c == '[' || c == '{') ++depth;
        if ((c == ']' || c == '}') && depth > 0) --depth;
        at = c == '"' || c == '\'' ? skip_toml_string(text, at) : c == '#' ? skip_toml_comment(text, at) : at + 1;
    }
    return text.find_last_not_of(" \t\r", at - 1) + 1;
}

// The names of a key such as a."b.c", read by the library.
names names_of(std::string_view key)
{
    names path;
    const toml::table parsed = toml::parse(std::string(key) + " = 0");
    for (const toml::table* at = &parsed; at != nullptr && !at->empty();) {
        path.emplace_back(at->begin()->first.str());
        at = at->begin()->second.as_table();
    }
    return path;
}

std::size_t end_of_key(std::string_view text, std::size_t at)
{
    while (at < text.size() && text[at] != '=')
        at = text[at] == '"' || text[at] == '\'' ? skip_toml_string(text, at) : at + 1;
    return at;
}

}  // namespace

std::vector<toml_statement> scan_toml(std::string_view text)
{
    std::vector<toml_statement> all;
    names table;
    std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
    while ((at = std::min(text.find_first_not_of(" \t\r\n", at), text.size())) < text.size()) {
        if (text[at] == '#') {
            at = skip_toml_comment(text, at);
            continue;
        }
        toml_statement one{at, skip_statement(text, at), {}, {}, text.substr(at, 2) == "[["};
        const auto body = text.substr(at, one.end - at);
        const std::size_t brackets = one.is_list_header ? 2 : 1;
        if (text[at] == '[')
            table = names_of(body.substr(brackets, body.size() - 2 * brackets));
        else
            one.key = names_of(body.substr(0, end_of_key(body, 0)));
        one.table = table;
        at = one.end;
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace cmcp::connect
