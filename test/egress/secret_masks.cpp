#include "egress/secret_masks.hpp"
#include "test/support/catch.hpp"
#include "text/encodings.hpp"

#include <random>

using namespace cmcp;

namespace {

held_secret secret_of(const std::string& value, const std::string& placeholder = "cmcp-secret-00112233445566778899")
{
    return {"KEY", read_secret_hosts("api.test"), secret_place::read("header Authorization: Bearer {}"), value,
            placeholder};
}

std::shared_ptr<const secret_masks> masks_of(const held_secret& secret)
{
    auto masks = std::make_shared<secret_masks>();
    masks->add(secret);
    return masks;
}

std::string in_pieces(const std::shared_ptr<const secret_masks>& masks, const std::string& text, std::size_t size)
{
    stream_mask mask(masks);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) out += mask.feed(text.substr(at, size));
    return out += mask.finish();
}

std::string percent(const std::string& text)
{
    return percent_encoded(text, [](unsigned char) { return false; });
}

std::string wide(const std::string& text, bool little)
{
    std::string out;
    for (const char c : text) (out += little ? std::string{c, '\0'} : std::string{'\0', c});
    return out;
}

std::string in_json(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += c == '"' || c == '\\' || c == '/' ? std::string{'\\', c} : c == '&' ? "\\u0026" : std::string{c};
    return out;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::string> values{"sk-live_4eC39HqLyjWDarjtT1zdp7dc", "p@ss/w\"or\\d&<x>'%25+=", "aaaaaaaab",
                                      "abababababac", "12345678"};

std::vector<std::string> forms(const std::string& value)
{
    std::vector<std::string> all{value,           percent(value),    in_json(value),
                                 hex_text(value), wide(value, true), wide(value, false)};
    for (const auto* lead : {"", "u", "us", "user:", "some one:"})
        for (const auto* tail : {"", "x", "yz"}) all.push_back(base64_encode(lead + value + tail));
    return all;
}

}  // namespace

TEST_CASE("a secret that comes back is masked at the same length, wherever pieces are cut")
{
    for (const auto& value : values) {
        const auto masks = masks_of(secret_of(value));
        for (const auto& form : forms(value)) {
            const std::string text = "before " + form + " between " + form + form + " after";
            const auto once = masks->masked(text);
            INFO(value << " as " << form << " is " << once);
            CHECK(once.size() == text.size());
            CHECK_FALSE(holds(once, form));
            CHECK(once.starts_with("before "));
            CHECK(once.ends_with(" after"));
            for (const std::size_t size : {1u, 2u, 3u, 5u, 7u, 16u, 33u, 100u})
                CHECK(in_pieces(masks, text, size) == once);
        }
    }
}

TEST_CASE("what is masked depends on no border, for random texts and cuts")
{
    std::mt19937 random(7);
    const std::string value = "abcabcabd/x", letters = "abcdx/%\\&+u026";
    const auto masks = masks_of(secret_of(value));
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        const auto known = forms(value);
        while (text.size() < 200)
            text +=
                random() % 8 == 0 ? known[random() % known.size()] : std::string{letters[random() % letters.size()]};
        const auto whole = masks->masked(text);
        stream_mask mask(masks);
        std::string out;
        for (std::size_t at = 0; at < text.size();) {
            const auto size = 1 + random() % 9;
            out += mask.feed(text.substr(at, size));
            at += size;
        }
        out += mask.finish();
        REQUIRE(out == whole);
        REQUIRE(whole.size() == text.size());
        for (const auto& form : known) REQUIRE_FALSE(holds(whole, form));
    }
}

TEST_CASE("a mask is the placeholder as a whole where that is as long as the value")
{
    const std::string value = "0123456789abcdef0123456789abcdef";
    auto secret = secret_of(value);
    secret.place = secret_place::read("basic ann");
    const auto masks = masks_of(secret);
    CHECK(masks->masked("token=" + value + ";") == "token=cmcp-secret-00112233445566778899;");
    CHECK(base64_decode(masks->masked(base64_encode("ann:" + value))) == "ann:cmcp-secret-00112233445566778899");
}

TEST_CASE("base64 that is cut into lines is masked")
{
    const std::string value = "a rather long secret that fills more than one line of base64 in a letter";
    auto lines = base64_encode("user:" + value);
    for (std::size_t at = 20; at < lines.size(); at += 22) lines.insert(at, "\r\n");
    const auto masked = masks_of(secret_of(value))->masked(lines);
    CHECK(masked.size() == lines.size());
    std::string joined;
    for (const char c : masked)
        if (c != '\r' && c != '\n' && c != '*') joined += c;
    CHECK_FALSE(
        holds(base64_decode(joined + std::string((4 - joined.size() % 4) % 4, '=')).value_or(""), "long secret"));
}

TEST_CASE("other text passes as it is, and at once")
{
    const auto masks = masks_of(secret_of("hidden-value-1"));
    stream_mask mask(masks);
    CHECK(mask.feed("data: 1\n\n") == "data: 1\n\n");
    CHECK(mask.feed("data: hidden-value") == "data: ");
    CHECK(mask.feed("-2\n") == "hidden-value-2\n");
    CHECK(mask.finish().empty());
    stream_mask none(nullptr);
    CHECK(none.feed("hidden-value-1") == "hidden-value-1");
}

TEST_CASE("the beginning of a secret at the end of a body passes, because it is none")
{
    const auto masks = masks_of(secret_of("hidden-value-1"));
    stream_mask mask(masks);
    CHECK(mask.feed("hidden-val") == "");
    CHECK(mask.finish() == "hidden-val");
}
