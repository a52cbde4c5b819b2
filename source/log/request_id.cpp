#include "log/request_id.hpp"

#include "text/random_id.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>

namespace cmcp::log {

namespace {

using start_tag = std::array<char, 5>;

// No letter or digit that reads like another one.
constexpr std::string_view tag_letters = "abcdefghijkmnpqrstuvwxyz23456789";

start_tag random_tag()
{
    std::array<unsigned char, std::tuple_size_v<start_tag>> bytes{};
    fill_random(bytes);
    start_tag tag{};
    std::transform(bytes.begin(), bytes.end(), tag.begin(), [](unsigned char byte) { return tag_letters[byte % 32]; });
    return tag;
}

bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

}  // namespace

std::string next_id(char kind)
{
    static const start_tag tag = random_tag();
    static std::atomic<std::uint64_t> last{0};
    // Kind, tag and the first ten million numbers fit into a string without memory of its own.
    std::array<char, 32> text{kind, '-'};
    char* at = std::copy(tag.begin(), tag.end(), text.begin() + 2);
    *at++ = '-';
    const auto number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return {text.data(), std::to_chars(at, text.data() + text.size(), number).ptr};
}

bool is_plain_id(std::string_view text, std::size_t longest)
{
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), is_plain);
}

}  // namespace cmcp::log
