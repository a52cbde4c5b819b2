#include "shells/shell_keys.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <iterator>

namespace cmcp {
namespace {

struct named_key {
    std::string_view name, bytes;
};

// As xterm sends them.
constexpr named_key keys_of_xterm[] = {
    {"enter", "\r"},       {"return", "\r"},      {"tab", "\t"},          {"shift-tab", "\x1b[Z"},
    {"esc", "\x1b"},       {"escape", "\x1b"},    {"space", " "},         {"backspace", "\x7f"},
    {"delete", "\x1b[3~"}, {"insert", "\x1b[2~"}, {"page-up", "\x1b[5~"}, {"page-down", "\x1b[6~"},
    {"f1", "\x1bOP"},      {"f2", "\x1bOQ"},      {"f3", "\x1bOR"},       {"f4", "\x1bOS"},
    {"f5", "\x1b[15~"},    {"f6", "\x1b[17~"},    {"f7", "\x1b[18~"},     {"f8", "\x1b[19~"},
    {"f9", "\x1b[20~"},    {"f10", "\x1b[21~"},   {"f11", "\x1b[23~"},    {"f12", "\x1b[24~"},
};

// Their middle byte is '[', or 'O' in the application mode.
constexpr named_key moving_keys[] = {{"up", "A"},   {"down", "B"}, {"right", "C"},
                                     {"left", "D"}, {"home", "H"}, {"end", "F"}};

const named_key* key_named(std::string_view name, const named_key* first, const named_key* last)
{
    const auto* at = std::find_if(first, last, [name](const named_key& each) { return each.name == name; });
    return at == last ? nullptr : at;
}

std::optional<std::string> control_key(std::string_view key)
{
    if (key == "space" || key == "@") return std::string(1, '\0');
    if (key.size() != 1) return std::nullopt;
    const char c = key.front();
    const bool letter = c >= 'a' && c <= 'z';
    if (!letter && std::string_view("[\\]^_").find(c) == std::string_view::npos) return std::nullopt;
    return std::string(1, static_cast<char>(c & 0x1f));
}

}  // namespace

std::optional<std::string> key_bytes(std::string_view name, bool application)
{
    const std::string key = lower_case(name);
    if (key.starts_with("ctrl-")) return control_key(std::string_view(key).substr(5));
    if (key.starts_with("alt-") && name.size() == 5) return "\x1b" + std::string(name.substr(4));
    if (const auto* moving = key_named(key, std::begin(moving_keys), std::end(moving_keys)))
        return (application ? "\x1bO" : "\x1b[") + std::string(moving->bytes);
    if (const auto* plain = key_named(key, std::begin(keys_of_xterm), std::end(keys_of_xterm)))
        return std::string(plain->bytes);
    return std::nullopt;
}

}  // namespace cmcp
