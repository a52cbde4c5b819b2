#include "web/web_content.hpp"

#include "text/charset.hpp"

#include <algorithm>

namespace cmcp {
namespace {

constexpr std::string_view text_types[] = {
    "application/json",     "application/ld+json", "application/javascript", "application/ecmascript",
    "application/x-ndjson", "application/yaml",    "application/x-yaml",     "application/toml",
    "application/sql",      "application/x-sh",    "application/graphql",    "application/x-javascript"};

page_kind kind_of_type(std::string_view type)
{
    if (type == "text/html" || type == "application/xhtml+xml") return page_kind::html;
    if (type == "application/xml" || type == "text/xml" || type.ends_with("+xml")) return page_kind::xml;
    if (type == "application/pdf" || type == "application/x-pdf") return page_kind::pdf;
    const bool listed = std::find(std::begin(text_types), std::end(text_types), type) != std::end(text_types);
    if (listed || type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+yaml"))
        return page_kind::text;
    return page_kind::other;
}

page_kind kind_of_bytes(std::string_view bytes)
{
    if (bytes.starts_with("%PDF-")) return page_kind::pdf;
    const auto start = bytes.substr(0, 1024);
    if (start.find('\0') != std::string_view::npos && !start.starts_with("\xff\xfe") && !start.starts_with("\xfe\xff"))
        return page_kind::other;
    const auto first = start.find_first_not_of(" \t\r\n\f\xef\xbb\xbf");
    if (first == std::string_view::npos || start[first] != '<') return page_kind::text;
    return start.substr(first).starts_with("<?xml") ? page_kind::xml : page_kind::html;
}

bool says_nothing(std::string_view type)
{
    return type.empty() || type == "application/octet-stream" || type == "unknown/unknown";
}

}  // namespace

page_kind kind_of(const fetch_reply& page)
{
    return says_nothing(page.type) ? kind_of_bytes(page.body) : kind_of_type(page.type);
}

void refuse_other_types(const fetch_head& head)
{
    if (says_nothing(head.type) || head.status >= 400) return;
    if (kind_of_type(head.type) == page_kind::other) throw fetch_error("type", other_type_sentence(head.type));
}

std::string other_type_sentence(std::string_view type)
{
    return "The address leads to " +
           (type.empty() ? std::string("data of no known type") : "data of type " + std::string(type.substr(0, 80))) +
           ", which cannot be read as text; HTML, XML, plain text, JSON and PDF can.";
}

decoded_text decode_text(std::string_view bytes, std::string_view header_charset)
{
    const auto choice = choose_charset(bytes, header_charset);
    return {to_utf8(bytes, choice), choice.note};
}

}  // namespace cmcp
