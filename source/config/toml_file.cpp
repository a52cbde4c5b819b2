#include "config/toml_file.hpp"

#include "config/config_error.hpp"

#if __has_include(<toml++/toml.hpp>)
#include <toml++/toml.hpp>
#else
#include <toml++/toml.h>
#endif

#include <algorithm>
#include <charconv>

namespace cmcp {

namespace {

struct found_value {
    std::size_t line;
    assignment item;
};

std::string place(std::string_view name, const toml::source_region& source)
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
    std::string joined;
    for (const auto& element : list) {
        const std::string item = plain_text(element, where);
        if (item.find(',') != std::string::npos) throw config_error(where + ": a list's item must not hold a comma");
        joined += (&element == &list[0] ? "" : ",") + item;
    }
    return joined;
}

void collect(const toml::table& table, const std::string& path, std::string_view name, std::vector<found_value>& into)
{
    for (const auto& [key, node] : table) {
        const std::string full = path + std::string(std::string_view(key));
        if (const auto* inner = node.as_table()) {
            collect(*inner, full + ".", name, into);
            continue;
        }
        const std::string where = place(name, node.source());
        const auto* list = node.as_array();
        into.push_back(
            {node.source().begin.line, {full, list ? list_text(*list, where) : plain_text(node, where), where}});
    }
}

}  // namespace

assignments parse_toml_file(std::string_view text, std::string_view name)
{
    std::vector<found_value> found;
    try {
        collect(toml::parse(text, name), {}, name, found);
    } catch (const toml::parse_error& e) {
        throw config_error(place(name, e.source()) + ": " + std::string(e.description()));
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    assignments ordered;
    for (auto& value : found) ordered.push_back(std::move(value.item));
    return ordered;
}

}  // namespace cmcp
