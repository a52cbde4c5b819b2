#include "jsonrpc/json_size.hpp"

#include "jsonrpc/plain_text.hpp"
#include "text/utf8_text.hpp"

#include <algorithm>

namespace cmcp::jsonrpc {

namespace {

constexpr std::size_t size_of_number = 24;
constexpr std::size_t size_of_escape = 6;  // \u001b

std::size_t json_size_of(char character)
{
    const auto byte = static_cast<unsigned char>(character);
    if (std::string_view("\"\\\b\f\n\r\t").find(character) != std::string_view::npos) return 2;
    return byte < 0x20 || byte == 0x7f ? size_of_escape : 1;
}

}  // namespace

std::size_t json_size(std::string_view text)
{
    std::size_t size = 2;
    bool ascii = true;
    for (auto rest = text; !rest.empty();) {
        const auto plain = plain_prefix(rest);
        size += plain;
        rest.remove_prefix(plain);
        // Bytes that are not plain rarely stand alone: text of another script, or lines.
        for (std::size_t i = std::min<std::size_t>(rest.size(), 8); i > 0; --i) {
            ascii = ascii && static_cast<unsigned char>(rest.front()) < 0x80;
            size += json_size_of(rest.front());
            rest.remove_prefix(1);
        }
    }
    return ascii || is_utf8(text) ? size : 3 * size;  // U+FFFD stands for a byte
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

namespace {

constexpr std::size_t overhead = 16;  // of a value, and of a name

// Counts down the room that is left; false: the value is larger.
bool fits_into(const json::value& value, std::size_t& room);

bool take(std::size_t& room, std::size_t size)
{
    const bool fits = size <= room;
    room -= std::min(room, size);
    return fits;
}

bool fits_into(const json::object& object, std::size_t& room)
{
    return std::all_of(object.begin(), object.end(), [&room](const auto& member) {
        return take(room, member.key().size() + overhead) && fits_into(member.value(), room);
    });
}

bool fits_into(const json::array& array, std::size_t& room)
{
    return std::all_of(array.begin(), array.end(), [&room](const auto& item) { return fits_into(item, room); });
}

bool fits_into(const json::value& value, std::size_t& room)
{
    if (!take(room, overhead)) return false;
    if (const auto* text = value.if_string()) return take(room, text->size());
    if (const auto* array = value.if_array()) return fits_into(*array, room);
    const auto* object = value.if_object();
    return object == nullptr || fits_into(*object, room);
}

}  // namespace

bool is_larger(const json::object& object, std::size_t than) { return !fits_into(object, than); }

bool is_larger(const json::array& array, std::size_t than) { return !fits_into(array, than); }

}  // namespace cmcp::jsonrpc
