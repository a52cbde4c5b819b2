#include "jsonrpc/json_size.hpp"

#include "text/utf8_text.hpp"

namespace cmcp::jsonrpc {

namespace {

constexpr std::size_t size_of_number = 24;
constexpr std::size_t size_of_escape = 6;  // \u001b

std::size_t json_size_of(char character)
{
    const auto byte = static_cast<unsigned char>(character);
    if (byte == '"' || byte == '\\' || byte == '\n' || byte == '\t' || byte == '\r') return 2;
    return byte < 0x20 || byte == 0x7f ? size_of_escape : 1;
}

}  // namespace

std::size_t json_size(std::string_view text)
{
    std::size_t size = 2;
    for (const char character : text) size += json_size_of(character);
    return is_utf8(text) ? size : 3 * size;  // U+FFFD stands for a byte
}

std::size_t json_size(const json::object& object)
{
    std::size_t size = 2;
    for (const auto& member : object) size += json_size(std::string_view(member.key())) + json_size(member.value()) + 2;
    return size;
}

std::size_t json_size(const json::value& value)
{
    if (const auto* text = value.if_string()) return json_size(std::string_view(*text));
    if (const auto* object = value.if_object()) return json_size(*object);
    if (!value.is_array()) return value.is_number() ? size_of_number : 5;
    std::size_t size = 2;
    for (const auto& item : value.get_array()) size += json_size(item) + 1;
    return size;
}

}  // namespace cmcp::jsonrpc
