#include "log/request_id.hpp"

#include "text/random_id.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace cmcp::log {

namespace {

// No letter or digit that reads like another one.
constexpr std::string_view tag_letters = "abcdefghijkmnpqrstuvwxyz23456789";

std::string random_tag()
{
    std::array<unsigned char, 5> bytes{};
    fill_random(bytes);
    std::string tag = "-";
    for (const auto byte : bytes) tag += tag_letters[byte % 32];
    return tag + "-";
}

bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

}  // namespace

std::string next_id(char kind)
{
    static const std::string tag = random_tag();
    static std::atomic<std::uint64_t> last{0};
    return kind + tag + std::to_string(++last);
}

bool is_plain_id(std::string_view text, std::size_t longest)
{
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), is_plain);
}

}  // namespace cmcp::log
