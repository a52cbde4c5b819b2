#include "web/page_keys.hpp"

#include <cctype>

namespace cmcp {
namespace {

struct named_key {
    const char* name;
    int number;
    const char* text;
};

constexpr named_key named[] = {
    {"Enter", 13, "\r"},    {"Tab", 9, ""},      {"Escape", 27, ""},    {"Backspace", 8, ""},
    {"Delete", 46, ""},     {"ArrowUp", 38, ""}, {"ArrowDown", 40, ""}, {"ArrowLeft", 37, ""},
    {"ArrowRight", 39, ""}, {"PageUp", 33, ""},  {"PageDown", 34, ""},  {"Home", 36, ""},
    {"End", 35, ""},        {"Space", 32, " "},  {"F1", 112, ""},       {"F5", 116, ""}};

std::size_t length_of_character(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) return 1;
    return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
}

}  // namespace

std::optional<page_key> find_key(std::string_view name)
{
    for (const auto& each : named) {
        if (name != each.name) continue;
        const std::string key = name == "Space" ? " " : std::string(name);
        return page_key{key, std::string(name), each.number, each.text};
    }
    if (name.empty() || name.size() != length_of_character(name)) return std::nullopt;
    page_key made{std::string(name), {}, 0, std::string(name)};
    const auto byte = static_cast<unsigned char>(name[0]);
    if (std::isalnum(byte)) {
        made.number = std::toupper(byte);
        made.code = (std::isdigit(byte) ? "Digit" : "Key") + std::string(1, static_cast<char>(made.number));
    }
    return made;
}

std::string key_names()
{
    std::string all;
    for (const auto& each : named) all += (all.empty() ? "" : ", ") + std::string(each.name);
    return all;
}

}  // namespace cmcp
