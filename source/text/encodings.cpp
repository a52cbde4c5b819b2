#include "text/encodings.hpp"

#include "text/digest_maker.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace cmcp {

std::string hex_text(std::string_view bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const unsigned char byte : bytes) text += {digits[byte >> 4], digits[byte & 15]};
    return text;
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
