#include "text/encodings.hpp"
#include "test/support/catch.hpp"
#include "text/random_id.hpp"
#include "text/signature.hpp"
#include "text/time_text.hpp"
#include "text/utf8_text.hpp"
#include "text/words.hpp"

using namespace cmcp;

TEST_CASE("UTF-8 is what table 3-7 of Unicode allows, and nothing else")
{
    for (const char* valid : {"", "plain text of more than eight bytes", "grün", "\xe2\x82\xac", "\xf4\x8f\xbf\xbf"})
        CHECK(is_utf8(valid));
    for (const char* invalid : {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5", "\xc3"})
        CHECK_FALSE(is_utf8(invalid));
    CHECK(valid_utf8_length("eight by\xff") == 8);
    CHECK(is_cut_utf8("\xf0\x9f\x98"));
    CHECK_FALSE(is_cut_utf8("\xe0\x80"));
}

TEST_CASE("bytes that are not UTF-8 are replaced, escaped, or put together again")
{
    CHECK(replace_invalid_utf8("a\xff\xe2\x82") == "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(escape_invalid_utf8("a\xff") == "a\\xFF");
    utf8_cleaner cleaner;
    CHECK(cleaner.add("a\xe2\x82") == "a");
    CHECK(cleaner.add("\xac\xe2\x82z") == "\xe2\x82\xac\xef\xbf\xbdz");
    CHECK(cleaner.add("\xc3").empty());
    CHECK(cleaner.finish() == "\xef\xbf\xbd");
}

TEST_CASE("contents in base64 are taken as libraries write them")
{
    const std::string bytes = "\xfb\xff\xfe any bytes";  // +//+ in the one alphabet, -__- in the other
    const auto plain = base64_encode(bytes);
    auto lines = plain, urlsafe = base64url_encode(bytes);
    for (std::size_t at = 4; at < lines.size(); at += 6) lines.insert(at, "\r\n");
    for (const auto& text : {plain, lines + "\n", urlsafe, "  " + plain, "data:image/png;base64," + plain,
                             "DATA:text/plain;charset=utf-8;BASE64," + urlsafe}) {
        INFO(text);
        const auto content = decode_content(text);
        CHECK(content.problem.empty());
        CHECK(content.bytes == bytes);
    }
    for (std::size_t size = 0; size < 9; ++size) {
        const std::string part(size, '\xa7');
        CHECK(decode_content(base64_encode(part)).bytes == part);
        CHECK(decode_content(base64url_encode(part)).bytes == part);
    }
}

TEST_CASE("what is wrong with base64 is told with its place")
{
    const std::pair<const char*, const char*> cases[] = {{"QUJD!", "position 5"},
                                                         {"QU*D", "position 3"},
                                                         {"QQ==QQ==", "position 5"},
                                                         {"QUJDR", "missing"},
                                                         {"QQ===", "position 5"},
                                                         {"=", "position 1"},
                                                         {"data:text/plain,abc", ";base64"},
                                                         {"data:image/png;base64", "comma"},
                                                         {"caf\xc3\xa9", "position 4"}};
    for (const auto& [text, words] : cases) {
        INFO(text);
        const auto content = decode_content(text);
        CHECK(content.bytes.empty());
        CHECK(content.problem.find(words) != std::string::npos);
    }
    CHECK_FALSE(base64_decode("QUJD\n"));  // of this server's own making there is one form
}

TEST_CASE("hex, percent signs and random ids")
{
    CHECK(hex_text(std::string("\x00\x7f\xff", 3)) == "007fff");
    CHECK(percent_encoded("a/\xc3\xbc", [](unsigned char c) { return c < 0x80 && c != '/'; }) == "a%2F%C3%BC");
    CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(random_id().size() == 40);
    CHECK(random_id(16).size() == 32);
    CHECK(random_id() != random_id());
}

TEST_CASE("times are told in UTC, and durations in seconds")
{
    CHECK(utc_text(784111777, "%a, %d %b %Y %H:%M:%S GMT") == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(timestamp(std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'007))) ==
          "2023-11-14T22:13:20.007Z");
    CHECK(seconds_text(std::chrono::milliseconds(2500)) == "2.5 s");
}

TEST_CASE("words are joined, and the nearest is the one with the fewest changes")
{
    CHECK(joined({}, ", ").empty());
    CHECK(joined({"a", "", "b"}, ",") == "a,,b");
    CHECK(nearest_of(std::vector<std::string>{"serve", "stdio"}, "sreve") == "serve");
}

TEST_CASE("secrets are the same where every byte is, whichever differs")
{
    for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 64u, 700u}) {
        const std::string secret(size, 's');
        CHECK(same_secret(secret, secret));
        CHECK_FALSE(same_secret(secret + "s", secret));
        for (std::size_t at = 0; at < size; ++at) {
            auto sent = secret;
            sent[at] = static_cast<char>(sent[at] ^ '\x80');
            if (same_secret(sent, secret)) FAIL("byte " << at << " of " << size);
        }
    }
}

TEST_CASE("bytes have one text of hexadecimal digits")
{
    CHECK(hex_text(std::string_view("\x00\x9f\xff", 3)) == "009fff");
    CHECK(hex_bytes("009fff") == std::string("\x00\x9f\xff", 3));
    CHECK(hex_bytes("") == "");
    for (const char* wrong : {"0", "0g", "9F", " 9f", "9f0"}) CHECK(hex_bytes(wrong) == std::nullopt);
}
