#include "connect/toml_text.hpp"

#include "jsonrpc/write_json.hpp"
#include "text/toml_library.hpp"

#include <algorithm>
#include <optional>

namespace cmcp::connect {

namespace {

using path = toml_text::path;

bool begins_with(const path& whole, const path& beginning)
{
    return whole.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), whole.begin());
}

path absolute(const toml_statement& one)
{
    path whole = one.table;
    whole.insert(whole.end(), one.key.begin(), one.key.end());
    return whole;
}

bool is_bare(std::string_view key)
{
    return !key.empty() && key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                               std::string_view::npos;
}

std::string key_text(std::string_view key) { return is_bare(key) ? std::string(key) : jsonrpc::write_json(key); }

std::string header_text(const path& table)
{
    std::string text = "[";
    for (const auto& name : table) text += (&name == &table.front() ? "" : ".") + key_text(name);
    return text + "]";
}

// Texts of JSON are basic strings of TOML, too.
std::string value_text(const json::value& value)
{
    const auto* object = value.if_object();
    const auto* list = value.if_array();
    if (object == nullptr && list == nullptr) return jsonrpc::write_json(value);
    std::string inner;
    if (list != nullptr)
        for (const auto& each : *list) inner += (inner.empty() ? "" : ", ") + value_text(each);
    else
        for (const auto& [name, each] : *object)
            inner += (inner.empty() ? "" : ", ") + key_text(name) + " = " + value_text(each);
    return list != nullptr ? "[" + inner + "]" : "{ " + inner + " }";
}

std::size_t line_begin(std::string_view text, std::size_t at)
{
    const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    return before == std::string_view::npos ? 0 : before + 1;
}

std::size_t line_end(std::string_view text, std::size_t at)
{
    const auto end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

bool is_blank_line(std::string_view text, std::size_t begin)
{
    return begin < text.size() && text.find_first_not_of(" \t\r", begin) == text.find('\n', begin);
}

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

toml_text::toml_text(std::string text) : text_(std::move(text))
{
    if (text_.find("\r\n") != std::string::npos) newline_ = "\r\n";
    check();
}

void toml_text::check() const
try {
    (void)toml::parse(text_);
} catch (const toml::parse_error& failure) {
    throw std::runtime_error("line " + std::to_string(failure.source().begin.line) + ": this is not TOML (" +
                             std::string(failure.description()) + "); mend the file first");
}

bool toml_text::has(const path& table) const
{
    const toml::table parsed = toml::parse(text_);
    const toml::node* at = &parsed;
    for (const auto& name : table) {
        const auto* inner = at->as_table();
        at = inner == nullptr ? nullptr : inner->get(name);
        if (at == nullptr) return false;
    }
    return true;
}

// Only tables below headers of their own are edited: their lines are nobody else's.
void toml_text::check_form(const path& table) const
{
    for (const auto& one : scan_toml(text_)) {
        const path whole = absolute(one);
        const bool own_header = one.key.empty() && !one.is_list_header;
        const bool inside = begins_with(one.table, table);
        const bool in_the_way = (begins_with(whole, table) && !own_header && (!inside || one.is_list_header)) ||
                                (!one.key.empty() && begins_with(table, whole));
        if (in_the_way)
            throw bad_text(text_, one.begin,
                           "this writes " + header_text(table) +
                               " in another form than a table of its own; write it as one, or take it out, first");
    }
}

// Whole lines, and one of the blank lines around them.
void toml_text::cut(const std::vector<toml_statement>& statements)
{
    for (auto one = statements.rbegin(); one != statements.rend(); ++one) {
        auto begin = line_begin(text_, one->begin);
        auto end = line_end(text_, one->end);
        const bool last_of_text = text_.find_first_not_of(" \t\r\n", end) == std::string::npos;
        const auto before = begin == 0 ? begin : line_begin(text_, begin - 1);
        if (one->key.empty() && begin > 0 && is_blank_line(text_, before) &&
            (last_of_text || is_blank_line(text_, end)))
            begin = before;
        else if (one->key.empty() && begin == 0 && is_blank_line(text_, end))
            end = line_end(text_, end);
        text_.erase(begin, end - begin);
    }
}

bool toml_text::remove(const path& table)
{
    if (!has(table)) return false;
    check_form(table);
    std::vector<toml_statement> ours;
    for (auto& one : scan_toml(text_))
        if (begins_with(one.table, table)) ours.push_back(std::move(one));
    cut(ours);
    check();
    return true;
}

void toml_text::set(const path& table, const json::object& members, const std::vector<std::string>& managed)
{
    check_form(table);
    const auto is_managed = [&](const toml_statement& one) {
        const path whole = absolute(one);
        return whole.size() > table.size() && begins_with(whole, table) &&
               std::ranges::find(managed, whole[table.size()]) != managed.end();
    };
    std::vector<toml_statement> old;
    for (auto& one : scan_toml(text_))
        if (is_managed(one)) old.push_back(std::move(one));
    cut(old);
    std::string lines;
    for (const auto& [name, value] : members) lines += key_text(name) + " = " + value_text(value) + newline_;
    append(lines, table);
    check();
}

// Behind the table's header where it has one, else behind the tables of the same kind, else at the end.
void toml_text::append(const std::string& lines, const path& table)
{
    const path kind(table.begin(), table.end() - 1);
    std::optional<std::size_t> header, after;
    for (const auto& one : scan_toml(text_)) {
        if (one.key.empty() && one.table == table) header = line_end(text_, one.end);
        if (begins_with(one.table, kind)) after = line_end(text_, one.end);
    }
    const auto at = header.value_or(after.value_or(text_.size()));
    std::string before = at > 0 && text_[at - 1] != '\n' ? newline_ : "";
    if (!header && at > 0) before += newline_;
    text_.insert(at, header ? before + lines : before + header_text(table) + newline_ + lines);
}

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
