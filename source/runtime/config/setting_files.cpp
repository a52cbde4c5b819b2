#include "config/load_settings.hpp"

#include "text/ascii.hpp"
#include "text/toml_library.hpp"
#include "text/words.hpp"

#include <algorithm>
#include <charconv>

namespace cmcp {

namespace {

bool key_character(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool nothing_or_comment(std::string_view rest)
{
    const std::string after(trimmed(rest, white_space));
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
        if (text[i] == '#' && after_space) return std::string(trimmed(text.substr(0, i), white_space));
    }
    return std::string(trimmed(text, white_space));
}

assignment parse_line(std::string_view line, const std::string& where)
{
    if (line.starts_with("export ") || line.starts_with("export\t")) line.remove_prefix(7);
    const auto equals = line.find('=');
    std::string key(trimmed(line.substr(0, equals), white_space));
    if (equals == std::string_view::npos || key.empty() || !std::all_of(key.begin(), key.end(), key_character)) {
        throw config_error(where + ": a line must be KEY=value, a comment that starts with #, or empty");
    }
    const std::string value(trimmed(line.substr(equals + 1), white_space));
    const bool quoted = !value.empty() && (value.front() == '"' || value.front() == '\'');
    return {std::move(key), quoted ? quoted_value(value, where) : plain_value(value), where};
}

using toml_value = std::pair<toml::source_index, assignment>;  // with its line

std::string location(std::string_view name, const toml::source_region& source)
{
    return std::string(name) + ":" + std::to_string(source.begin.line);
}

std::string number_text(double value)
{
    char buffer[64];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    return {buffer, result.ptr};
}

std::string plain_text(const toml::node& node, const std::string& where)
{
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* number = node.as_floating_point()) return number_text(number->get());
    throw config_error(where + ": a value must be a string, a number, true or false, or a list of them");
}

std::string list_text(const toml::array& list, const std::string& where)
{
    std::vector<std::string> items;
    for (const auto& element : list) {
        items.push_back(plain_text(element, where));
        if (items.back().find(',') != std::string::npos)
            throw config_error(where + ": a list's item must not hold a comma");
    }
    return joined(items, ",");
}

void collect(const toml::table& table, const std::string& path, std::string_view name, std::vector<toml_value>& into)
{
    for (const auto& [key, node] : table) {
        const std::string full = path + std::string(std::string_view(key));
        if (full == "upstream") continue;
        if (const auto* inner = node.as_table()) {
            collect(*inner, full + ".", name, into);
            continue;
        }
        const std::string where = location(name, node.source());
        const auto* list = node.as_array();
        into.push_back(
            {node.source().begin.line, {full, list ? list_text(*list, where) : plain_text(node, where), where}});
    }
}

}  // namespace

assignments parse_env_file(std::string_view text, std::string_view name)
{
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    assignments items;
    std::size_t number = 0;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string line(trimmed(text.substr(0, end), white_space));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.front() == '#') continue;
        items.push_back(parse_line(line, std::string(name) + ":" + std::to_string(number)));
    }
    return items;
}

assignments parse_toml_file(std::string_view text, std::string_view name)
{
    std::vector<toml_value> items;
    try {
        collect(toml::parse(text, name), {}, name, items);
    } catch (const toml::parse_error& e) {
        throw config_error(location(name, e.source()) + ": " + std::string(e.description()));
    }
    std::ranges::stable_sort(items, {}, &toml_value::first);
    assignments ordered;
    for (auto& [line, item] : items) ordered.push_back(std::move(item));
    return ordered;
}

}  // namespace cmcp
