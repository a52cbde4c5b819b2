#include "connect/json_scan.hpp"

#include "jsonrpc/json.hpp"

#include <algorithm>

namespace cmcp::connect {

namespace {

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
