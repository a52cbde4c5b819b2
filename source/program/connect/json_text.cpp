#include "connect/json_text.hpp"

#include "jsonrpc/json.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>
#include <string>

namespace cmcp::connect {

namespace {

struct print_style {
    std::string indent{};     ///< of the line on which the value begins
    std::string unit = "  ";  ///< that each level adds
    std::string newline = "\n";
    bool one_line = false;
};

std::string print_json(const json::value& value, const print_style& style);

std::string print_list(const json::array& list, const print_style& style)
{
    std::string text = "[";
    for (const auto& each : list) text += (&each == &list.front() ? "" : ", ") + print_json(each, style);
    return text + "]";
}

// JSON for people: a member a line, lists and values on one.
std::string print_json(const json::value& value, const print_style& style)
{
    if (const auto* list = value.if_array()) return print_list(*list, style);
    const auto* object = value.if_object();
    if (object == nullptr) return jsonrpc::write_json(value);
    if (object->empty()) return "{}";
    print_style inner = style;
    inner.indent += style.unit;
    std::string text = "{", between = style.one_line ? " " : style.newline + inner.indent;
    for (const auto& [name, member] : *object) {
        text += between + jsonrpc::write_json(std::string_view(name)) + ": " + print_json(member, inner);
        between = style.one_line ? ", " : "," + style.newline + inner.indent;
    }
    return text + (style.one_line ? " }" : style.newline + style.indent + "}");
}

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::size_t deepest = 64;

json::parse_options rules(bool comments)
{
    json::parse_options options;
    options.max_depth = deepest;
    options.allow_comments = comments;
    options.allow_trailing_commas = comments;
    return options;
}

// Offset of the first byte that is not JSON, because the library says so by a stream alone.
std::size_t first_wrong(std::string_view text, bool comments)
{
    json::stream_parser parser({}, rules(comments));
    json::error_code failure;
    return parser.write_some(text.data(), text.size(), failure);
}

std::string indentation_of(std::string_view text)
{
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        const auto begin = at + 1;
        const auto end = text.find_first_not_of(" \t", begin);
        if (end == std::string_view::npos || end == begin || text[end] == '\r' || text[end] == '\n') continue;
        return text[begin] == '\t' ? "\t" : std::string(std::min<std::size_t>(end - begin, 8), ' ');
    }
    return "  ";
}

// Behind what stands behind a member on its line: its comma, blanks and comments.
std::size_t rest_of_line(std::string_view text, std::size_t at)
{
    for (;;) {
        const auto next = text.find_first_not_of(" \t,", at);
        if (next == std::string_view::npos) return text.size();
        if (text[next] != '/') return text[next] == '\r' || text[next] == '\n' ? next : at;
        const auto end = text.substr(next, 2) == "/*" ? text.find("*/", next) : text.find('\n', next);
        if (end == std::string_view::npos) return text.size();
        if (text[end] == '\n') return end > 0 && text[end - 1] == '\r' ? end - 1 : end;
        if (text.substr(next, end - next).find('\n') != std::string_view::npos) return at;
        at = end + 2;
    }
}

std::size_t next_line(std::string_view text, std::size_t at)
{
    const auto end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end + 1;
}

constexpr std::string_view white = " \t\r\n";

std::size_t at_or_end(std::string_view text, std::size_t at) { return std::min(at, text.size()); }

std::size_t skip_comment(std::string_view text, std::size_t at)
{
    const bool is_block = text.substr(at, 2) == "/*";
    const auto end = is_block ? text.find("*/", at + 2) : text.find('\n', at);
    return at_or_end(text, end) + (is_block && end != std::string_view::npos ? 2 : 0);
}

std::size_t skip_string(std::string_view text, std::size_t at)
{
    for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return at_or_end(text, at + 1);
}

std::size_t skip_nested(std::string_view text, std::size_t at)
{
    std::size_t depth = 0;
    do {
        const char c = text[at];
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        at = c == '"' ? skip_string(text, at) : c == '/' ? skip_comment(text, at) : at + 1;
    } while (depth > 0 && at < text.size());
    return at;
}

std::size_t skip_value(std::string_view text, std::size_t at)
{
    if (at >= text.size()) return at;
    if (text[at] == '"') return skip_string(text, at);
    if (text[at] == '{' || text[at] == '[') return skip_nested(text, at);
    return at_or_end(text, text.find_first_of(" \t\r\n,]}/", at));
}

std::string decoded(std::string_view quoted)
{
    json::error_code failure;
    const auto name = json::parse(quoted, failure);
    return failure || !name.is_string() ? std::string() : std::string(name.get_string());
}

}  // namespace

// The deepest object of a path that is there, and the member of it on the path.
struct json_text::place {
    json_span object;
    std::size_t depth = 0;              ///< of the object
    std::optional<std::size_t> member;  ///< of the path at this depth
};

json_text::json_text(std::string text, bool comments) : text_(std::move(text)), comments_(comments)
{
    if (text_.find_first_not_of(" \t\r\n", text_.starts_with(byte_order_mark) ? 3 : 0) == std::string::npos)
        text_ = "{}\n";
    unit_ = indentation_of(text_);
    if (text_.find("\r\n") != std::string::npos) newline_ = "\r\n";
    check();
}

void json_text::check()
{
    const bool marked = text_.starts_with(byte_order_mark);
    const auto body = std::string_view(text_).substr(marked ? byte_order_mark.size() : 0);
    json::error_code failure;
    parsed_ = json::parse(body, failure, {}, rules(comments_));
    if (failure) {
        const auto at = first_wrong(body, comments_);
        const bool is_comment = !comments_ && body.substr(at, 1) == "/";
        throw bad_text(body, at,
                       is_comment ? "a comment, which this client does not take; mend the file first"
                                  : "this is not JSON (" + failure.message() + "); mend the file first");
    }
    if (!parsed_.is_object()) throw bad_text(body, 0, "this is not a JSON object; mend the file first");
}

std::optional<json::value> json_text::find(const path& where) const
{
    const json::value* at = &parsed_;
    for (const auto& name : where) {
        const auto* object = at->if_object();
        at = object == nullptr ? nullptr : object->if_contains(name);
        if (at == nullptr) return std::nullopt;
    }
    return *at;
}

// Of members with the same name the last counts, as it does for readers of JSON.
json_text::place json_text::reach(const path& where) const
{
    const std::size_t mark = text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    place at{scan_object(text_, skip_blank(text_, mark)), 0, {}};
    for (;;) {
        const auto& members = at.object.members;
        const auto same = [&](const json_member& each) { return each.name == where[at.depth]; };
        const auto last = std::find_if(members.rbegin(), members.rend(), same);
        if (last == members.rend()) return at;
        at.member = static_cast<std::size_t>(members.rend() - last) - 1;
        if (at.depth + 1 == where.size()) return at;
        if (text_[last->value_begin] != '{')
            throw bad_text(text_, last->value_begin, "\"" + last->name + "\" is no object; mend the file first");
        at = {scan_object(text_, last->value_begin), at.depth + 1, {}};
    }
}

void json_text::set(const path& where, const json::value& value)
{
    if (find(where) == value) return;
    const place at = reach(where);
    if (at.member && at.depth + 1 == where.size()) {
        const auto& old = at.object.members[*at.member];
        const auto fresh = print_json(value, {indent_at(old.begin), unit_, newline_, on_one_line(at.object)});
        text_.replace(old.value_begin, old.end - old.value_begin, fresh);
    } else {
        json::value inner = value;
        for (std::size_t i = where.size() - 1; i > at.depth; --i) inner = json::object{{where[i], std::move(inner)}};
        insert(at.object, where[at.depth], inner);
    }
    check();
}

bool json_text::remove(const path& where)
{
    bool was_there = false;
    for (place at = reach(where); at.member && at.depth + 1 == where.size(); at = reach(where)) {
        erase(at.object, *at.member);
        was_there = true;
    }
    check();
    return was_there;
}

std::string json_text::indent_at(std::size_t at) const
{
    const auto line = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    const auto begin = line == std::string::npos ? 0 : line + 1;
    return text_.substr(begin, std::min(text_.find_first_not_of(" \t", begin), at) - begin);
}

bool json_text::on_one_line(const json_span& of) const
{
    return !of.members.empty() &&
           std::string_view(text_).substr(of.open, of.members.front().begin - of.open).find('\n') ==
               std::string_view::npos;
}

std::string json_text::member_indent(const json_span& of) const
{
    return of.members.empty() ? indent_at(of.open) + unit_ : indent_at(of.members.front().begin);
}

void json_text::insert(const json_span& into, const std::string& name, const json::value& value)
{
    const std::string indent = member_indent(into);
    const bool one_line = on_one_line(into);
    const std::string member =
        jsonrpc::write_json(std::string_view(name)) + ": " + print_json(value, {indent, unit_, newline_, one_line});
    if (into.members.empty()) return insert_first(into, newline_ + indent + member);
    const auto end = into.members.back().end;
    const auto behind = skip_blank(text_, end);
    const bool has_comma = behind < text_.size() && text_[behind] == ',';
    // From the back to the front, so that positions hold.
    if (one_line)
        text_.insert(has_comma ? behind + 1 : end, (has_comma ? " " : ", ") + member);
    else
        text_.insert(rest_of_line(text_, has_comma ? behind + 1 : end),
                     newline_ + indent + member + (has_comma ? "," : ""));
    if (!one_line && !has_comma) text_.insert(end, ",");
}

// Comments that the object has stay in front.
void json_text::insert_first(const json_span& into, const std::string& member)
{
    const auto last = text_.find_last_not_of(" \t\r\n", into.close - 1);
    const auto gap = std::string_view(text_).substr(last + 1, into.close - last - 1);
    const bool closes_on_own_line = gap.find('\n') != std::string_view::npos;
    const std::string close = closes_on_own_line ? "" : newline_ + indent_at(into.open);
    if (closes_on_own_line)
        text_.insert(last + 1, member);
    else
        text_.replace(last + 1, gap.size(), member + close);
}

void json_text::erase(const json_span& from, std::size_t index)
{
    const auto& member = from.members[index];
    const bool own_line = text_.find_last_not_of(" \t", member.begin - 1) != std::string::npos &&
                          text_[text_.find_last_not_of(" \t", member.begin - 1)] == '\n';
    const auto behind = skip_blank(text_, member.end);
    const bool has_comma = behind < text_.size() && text_[behind] == ',';
    const auto line_end = rest_of_line(text_, has_comma ? behind + 1 : member.end);
    const bool ends_line = line_end >= text_.size() || text_[line_end] == '\r' || text_[line_end] == '\n';
    const bool whole_lines = own_line && ends_line;
    const auto begin = whole_lines ? text_.find_last_not_of(" \t", member.begin - 1) + 1 : member.begin;
    const auto next = has_comma ? text_.find_first_not_of(" \t", behind + 1) : member.end;
    text_.erase(begin, (whole_lines ? next_line(text_, line_end) : next) - begin);
    if (has_comma || index == 0) {
        const auto left = scan_object(text_, from.open);
        const auto inside = std::string_view(text_).substr(left.open + 1, left.close - left.open - 1);
        if (inside.find_first_not_of(" \t\r\n") == std::string_view::npos) text_.erase(left.open + 1, inside.size());
        return;
    }
    // The comma of the member before, which is the last now.
    const auto comma = skip_blank(text_, from.members[index - 1].end);
    const auto gap = whole_lines ? 1 : begin - comma;
    text_.erase(comma, gap);
}

std::size_t skip_blank(std::string_view text, std::size_t at)
{
    for (;;) {
        at = at_or_end(text, text.find_first_not_of(white, at));
        if (at == text.size() || text[at] != '/') return at;
        at = skip_comment(text, at);
    }
}

json_span scan_object(std::string_view text, std::size_t open)
{
    json_span object{open, open, {}};
    std::size_t at = skip_blank(text, open + 1);
    while (at < text.size() && text[at] == '"') {
        json_member member;
        member.begin = at;
        const auto colon = skip_blank(text, skip_string(text, at));
        member.name = decoded(text.substr(at, skip_string(text, at) - at));
        member.value_begin = skip_blank(text, at_or_end(text, colon + 1));
        member.end = skip_value(text, member.value_begin);
        at = skip_blank(text, member.end);
        if (at < text.size() && text[at] == ',') at = skip_blank(text, at + 1);
        object.members.push_back(std::move(member));
    }
    object.close = at;
    return object;
}

}  // namespace cmcp::connect
