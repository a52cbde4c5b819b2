#include "egress/secret_position.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace cmcp {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t longest_position = 200;
constexpr std::string_view mark_of_value = "{}";

[[noreturn]] void refuse_position(std::string_view text, const std::string& why)
{
    throw std::invalid_argument("\"" + std::string(text.substr(0, longest_position)) +
                                "\" is not a valid position of a secret: " + why);
}

bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

bool is_plain_name(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_name_letter); }

bool is_visible(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Fields that say how a message is read, or by whom, are the guard's.
bool is_field_of_guard(std::string_view name)
{
    constexpr std::array<std::string_view, 14> fields{
        "host",   "content-length", "transfer-encoding",   "connection",      "upgrade", "te",  "trailer",
        "expect", "keep-alive",     "proxy-authorization", "accept-encoding", "range",   "via", "if-range"};
    const auto lower = lower_case(name);
    return std::ranges::find(fields, lower) != fields.end() || lower.starts_with("sec-websocket");
}

secret_position header_position(std::string_view text)
{
    const auto colon = text.find(':'), at = text.find(mark_of_value);
    if (colon == std::string_view::npos || at == std::string_view::npos || at < colon)
        refuse_position(text, "write a header as 'Authorization: Bearer {}', with {} where the value stands.");
    secret_position position;
    position.name = trimmed(text.substr(0, colon));
    if (!is_plain_name(position.name) || is_field_of_guard(position.name))
        refuse_position(text, "this header cannot hold a secret.");
    const auto before = text.substr(0, at).find_first_not_of(' ', colon + 1);
    position.before = text.substr(std::min(before, at), at - std::min(before, at));
    position.after = text.substr(at + mark_of_value.size());
    if (position.after.find(mark_of_value) != std::string::npos) refuse_position(text, "the value stands there once.");
    return position;
}

secret_position query_position(std::string_view text)
{
    constexpr std::string_view end = "={}";
    if (!text.ends_with(end) || !is_plain_name(text.substr(0, text.size() - end.size())))
        refuse_position(text, "write a part of the query as 'key={}'.");
    return {secret_position::kind::query, std::string(text.substr(0, text.size() - end.size())), {}, {}};
}

secret_position basic_position(std::string_view user)
{
    if (user.find(':') != std::string_view::npos) refuse_position(user, "a user's name has no colon.");
    return {secret_position::kind::basic, std::string(user), {}, {}};
}

std::string filled(const secret_position& position, const std::string& value)
{
    return position.before + value + position.after;
}

// Case of the text around the value does not count, because programs write "bearer", too.
bool is_filled_with(const secret_position& position, std::string_view field, const std::string& value)
{
    const auto around = position.before.size() + position.after.size();
    return field.size() == around + value.size() && field.substr(position.before.size(), value.size()) == value &&
           equal_ignoring_case(field.substr(0, position.before.size()), position.before) &&
           equal_ignoring_case(field.substr(position.before.size() + value.size()), position.after);
}

std::string login_of(std::string_view field)
{
    constexpr std::string_view scheme = "Basic ";
    if (!equal_ignoring_case(field.substr(0, scheme.size()), scheme)) return {};
    return base64_decode(trimmed(field.substr(scheme.size()))).value_or("");
}

// Every field of the name, because programs may send several of them.
template <class Change>
bool change_fields(http::request_header<>& request, const std::string& name, const Change& change)
{
    std::vector<std::string> values;
    bool changed = false;
    const auto [first, last] = request.equal_range(name);
    for (auto each = first; each != last; ++each) {
        values.emplace_back(each->value());
        changed = change(values.back()) || changed;
    }
    if (!changed) return false;
    request.erase(name);
    for (const auto& value : values) request.insert(name, value);
    return true;
}

bool put_into_query(http::request_header<>& request, const secret_position& position, const std::string& placeholder,
                    const std::string& value)
{
    std::string target(request.target());
    const auto end = std::min(target.find('#'), target.size());
    const std::string wanted = position.name + "=" + placeholder;
    auto at = target.find('?');
    while (at < end) {
        const auto next = std::min(target.find('&', at + 1), end);
        if (target.compare(at + 1, next - at - 1, wanted) == 0) {
            constexpr auto stays = [](unsigned char c) { return is_name_letter(static_cast<char>(c)) || c == '~'; };
            target.replace(at + 1, next - at - 1, position.name + "=" + percent_encoded(value, stays));
            request.target(target);
            return true;
        }
        at = next;
    }
    return false;
}

}  // namespace

secret_position secret_position::parse(kind is, std::string_view text)
{
    if (text.empty() || text.size() > longest_position || !is_visible(text))
        refuse_position(text, "it has 1 to 200 visible characters of ASCII.");
    if (is == kind::header) return header_position(text);
    return is == kind::query ? query_position(text) : basic_position(text);
}

secret_position secret_position::read(std::string_view text)
{
    const auto blank = text.find(' ');
    const auto word = text.substr(0, blank), rest = text.substr(std::min(text.size(), blank + 1));
    if (word == "header") return parse(kind::header, rest);
    if (word == "query") return parse(kind::query, rest);
    if (word == "basic") return parse(kind::basic, rest);
    refuse_position(text, "it is a header, a part of the query, or a basic login.");
}

std::string secret_position::text() const
{
    if (is == kind::header) return "header " + name + ": " + filled(*this, std::string(mark_of_value));
    return is == kind::query ? "query " + name + "={}" : "basic " + name;
}

bool secret_position::put(request_header& request, const std::string& placeholder, const std::string& value) const
{
    if (is == kind::query) return put_into_query(request, *this, placeholder, value);
    if (is == kind::header)
        return change_fields(request, name, [&](std::string& field) {
            const bool right = is_filled_with(*this, field, placeholder);
            if (right) field = filled(*this, value);
            return right;
        });
    return change_fields(request, "Authorization", [&](std::string& field) {
        const bool right = login_of(field) == name + ":" + placeholder;
        if (right) field = "Basic " + base64_encode(name + ":" + value);
        return right;
    });
}

}  // namespace cmcp
