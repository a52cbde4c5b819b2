#include "identity/api_key.hpp"

#include "text/encodings.hpp"
#include "text/random_id.hpp"

#include <array>

namespace cmcp {

namespace {

constexpr std::string_view mark = "cmk_";
constexpr std::size_t id_bytes = 6, secret_bytes = 32, secret_length = 43;

}  // namespace

api_key api_key::make()
{
    std::array<unsigned char, secret_bytes> bytes{};
    fill_random(bytes);
    return {random_id(id_bytes), base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()})};
}

std::optional<api_key> api_key::read(std::string_view text)
{
    constexpr auto id_length = 2 * id_bytes;
    if (!text.starts_with(mark) || text.size() != mark.size() + id_length + 1 + secret_length) return std::nullopt;
    text.remove_prefix(mark.size());
    if (text[id_length] != '_') return std::nullopt;
    return api_key{std::string(text.substr(0, id_length)), std::string(text.substr(id_length + 1))};
}

}  // namespace cmcp
