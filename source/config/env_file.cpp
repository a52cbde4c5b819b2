#include "config/env_file.hpp"

#include "config/config_error.hpp"
#include "config/value_parsers.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace cmcp {

namespace {

bool key_character(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool nothing_or_comment(std::string_view rest)
{
    const std::string after(trimmed(rest, values::blanks));
    return after.empty() || after.front() == '#';
}

char unescaped(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c; }

std::string quoted_value(std::string_view text, const std::string& where)
{
    const char quote = text[0];
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == quote) {
            if (!nothing_or_comment(text.substr(i + 1)))
                throw config_error(where + ": there is text after the closing quote");
            return value;
        }
        const bool escape = quote == '"' && text[i] == '\\' && i + 1 < text.size();
        value += escape ? unescaped(text[++i]) : text[i];
    }
    throw config_error(where + ": the closing quote is missing");
}

std::string plain_value(std::string_view text)
{
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool after_space = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t';
        if (text[i] == '#' && after_space) return std::string(trimmed(text.substr(0, i), values::blanks));
    }
    return std::string(trimmed(text, values::blanks));
}

assignment parse_line(std::string_view line, const std::string& where)
{
    if (line.starts_with("export ") || line.starts_with("export\t")) line.remove_prefix(7);
    const auto equals = line.find('=');
    std::string key(trimmed(line.substr(0, equals), values::blanks));
    if (equals == std::string_view::npos || key.empty() || !std::all_of(key.begin(), key.end(), key_character)) {
        throw config_error(where + ": a line must be KEY=value, a comment that starts with #, or empty");
    }
    const std::string value(trimmed(line.substr(equals + 1), values::blanks));
    const bool quoted = !value.empty() && (value.front() == '"' || value.front() == '\'');
    return {std::move(key), quoted ? quoted_value(value, where) : plain_value(value), where};
}

}  // namespace

assignments parse_env_file(std::string_view text, std::string_view name)
{
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    assignments found;
    std::size_t number = 0;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string line(trimmed(text.substr(0, end), values::blanks));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.front() == '#') continue;
        found.push_back(parse_line(line, std::string(name) + ":" + std::to_string(number)));
    }
    return found;
}

}  // namespace cmcp
