#include "text/encodings.hpp"

#include "text/ascii.hpp"
#include "text/digest_maker.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>

namespace cmcp {

std::string hex_text(std::string_view bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
}

std::optional<std::string> hex_bytes(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t at = 0; at < text.size(); at += 2) {
        const auto high = digits.find(text[at]), low = digits.find(text[at + 1]);
        if (high > 15 || low > 15) return std::nullopt;
        bytes += static_cast<char>(high << 4 | low);
    }
    return bytes;
}

std::string percent_encoded(std::string_view text, bool (*stays)(unsigned char))
{
    constexpr char digits[] = "0123456789ABCDEF";
    std::string encoded;
    for (const unsigned char byte : text) {
        if (stays(byte))
            encoded += static_cast<char>(byte);
        else
            encoded += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

namespace {

digest_maker& digests()
{
    static thread_local digest_maker maker;
    return maker;
}

}  // namespace

std::string sha256(std::string_view text)
{
    const auto digest = digests().bytes_of({text});
    return {digest.begin(), digest.end()};
}

std::string sha256_hex(std::string_view text) { return std::string(digests().of({text})); }

bool is_sha256_hex(std::string_view text)
{
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return text.size() == digest_length && std::all_of(text.begin(), text.end(), is_digit);
}

std::string base64_encode(std::string_view bytes)
{
    // A size fits an int, because no string of JSON has 2 GiB.
    std::string text((bytes.size() + 2) / 3 * 4, '\0');
    ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    return text;
}

std::optional<std::string> base64_decode(std::string_view text)
{
    if (text.size() % 4 != 0) return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int size =
        ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                          reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    const auto padding = text.size() - std::min(text.find('='), text.size());
    if (size < 0 || padding > 2) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    if (base64_encode(bytes) != text) return std::nullopt;  // the library lets white space and other bits pass
    return bytes;
}

namespace {

constexpr int no_digit = -1;

int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    return c == '/' || c == '_' ? 63 : no_digit;
}

// data:image/png;base64,
std::string problem_of_head(std::string_view text, std::size_t& begin)
{
    constexpr std::string_view scheme = "data:", mark = ";base64";
    begin = std::min(text.find_first_not_of(white_space), text.size());
    if (!equal_ignoring_case(text.substr(begin, scheme.size()), scheme)) return {};
    const auto comma = text.find(',', begin);
    if (comma == std::string_view::npos) return "is a data URL without a comma before its data";
    const auto head = text.substr(begin, comma - begin);
    const bool marked = head.size() >= mark.size() && equal_ignoring_case(head.substr(head.size() - mark.size()), mark);
    begin = comma + 1;
    return marked ? std::string() : "is a data URL without ;base64 before the comma";
}

std::string problem_at(std::size_t at, std::string_view what)
{
    return "is no base64: at position " + std::to_string(at + 1) + " " + std::string(what);
}

}  // namespace

decoded_content decode_content(std::string_view text)
{
    decoded_content content;
    std::size_t at = 0;
    content.problem = problem_of_head(text, at);
    if (!content.problem.empty()) return content;
    content.bytes.reserve((text.size() - at) / 4 * 3 + 3);
    std::uint32_t bits = 0;
    std::size_t digits = 0, padding = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (white_space.find(c) != std::string_view::npos) continue;
        if (c == '=') {
            if (++padding > 2 || digits % 4 < 2)
                return {{}, problem_at(at, "there is more padding (=) than belongs there")};
            continue;
        }
        const int digit = base64_digit(c);
        if (digit == no_digit) return {{}, problem_at(at, "there is a character that base64 does not have")};
        if (padding != 0) return {{}, problem_at(at, "the text goes on behind its padding (=)")};
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        if (++digits % 4 != 0) continue;
        content.bytes += {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8), static_cast<char>(bits)};
    }
    if (digits % 4 == 1)
        return {{}, problem_at(text.size() - 1, "the text ends within a byte, so some of it is missing")};
    if (digits % 4 >= 2) content.bytes += static_cast<char>(bits >> (digits % 4 == 2 ? 4 : 10));
    if (digits % 4 == 3) content.bytes += static_cast<char>(bits >> 2);
    return content;
}

std::string base64url_encode(std::string_view bytes)
{
    std::string text = base64_encode(bytes);
    while (text.ends_with('=')) text.pop_back();
    std::replace(text.begin(), text.end(), '+', '-');
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
}

std::optional<std::string> base64url_decode(std::string_view text)
{
    if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
    std::string padded(text);
    std::replace(padded.begin(), padded.end(), '-', '+');
    std::replace(padded.begin(), padded.end(), '_', '/');
    padded.append((4 - padded.size() % 4) % 4, '=');
    return base64_decode(padded);
}

}  // namespace cmcp
