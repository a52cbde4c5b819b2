#include "http/http_request.hpp"

#include <algorithm>

namespace cmcp {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string percent_decoded(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string lower_case(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> http_request::header(std::string_view name) const
{
    for (const auto& field : fields)
        if (equal_ignoring_case(field.first, name)) return field.second;
    return std::nullopt;
}

std::size_t http_request::count(std::string_view name) const
{
    return static_cast<std::size_t>(
        std::count_if(fields.begin(), fields.end(), [name](const auto& field) { return field.first == name; }));
}

std::optional<std::string> http_request::parameter(std::string_view name) const
{
    std::string_view rest = query;
    while (!rest.empty()) {
        auto part = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(part.size() + 1, rest.size()));
        auto equals = part.find('=');
        if (part.substr(0, equals) != name) continue;
        return equals == std::string_view::npos ? std::string() : percent_decoded(part.substr(equals + 1));
    }
    return std::nullopt;
}

}  // namespace cmcp
