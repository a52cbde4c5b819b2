#include "egress/stream_mask.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <cctype>
#include <random>

using namespace cmcp;

namespace {

held_secret secret_of(const std::string& value, const std::string& placeholder = "cmcp-secret-00112233445566778899")
{
    return {"KEY", read_secret_hosts("api.test"), secret_position::read("header Authorization: Bearer {}"), value,
            placeholder};
}

std::shared_ptr<const secret_masks> masks_of(const held_secret& secret)
{
    return std::make_shared<const secret_masks>(std::vector<held_secret>{secret});
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
    secret.position = secret_position::read("basic ann");
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

TEST_CASE("events, lines of JSON and other text that no form goes on behind pass at once")
{
    stream_mask mask(masks_of(secret_of("hidden-value-1")));
    for (const auto* text : {"data: 1\n\n", "data: hidden-value\r\n\r\n", "{\"a\": [1]}\n", "<p>\n", "\xc3\xa4"})
        CHECK(mask.feed(text) == text);
    CHECK(mask.feed("a line\nand a wor") == "a line\n");
    CHECK(mask.feed("d.\n\n") == "and a word.\n\n");
    CHECK(mask.finish().empty());
    stream_mask none(nullptr);
    CHECK(none.feed("hidden-value-1") == "hidden-value-1");
}

TEST_CASE("what is held back of a long line is bounded")
{
    const auto masks = masks_of(secret_of("hidden-value-1"));
    stream_mask mask(masks);
    std::size_t passed = 0;
    for (std::size_t size = 1; size <= 100'000; ++size) {
        passed += mask.feed("x").size();
        REQUIRE(passed + 2 * masks->longest_form() >= size);
    }
    CHECK(mask.held() == 100'000 - passed);
    CHECK(mask.finish().size() == 100'000 - passed);
}

TEST_CASE("the beginning of a secret at the end of a body passes, because it is none")
{
    const auto masks = masks_of(secret_of("hidden-value-1"));
    stream_mask mask(masks);
    CHECK(mask.feed("hidden-val") == "");
    CHECK(mask.finish() == "hidden-val");
}

namespace {

std::string each(const std::string& text, std::string (*one)(unsigned char))
{
    std::string out;
    for (const char c : text) out += one(static_cast<unsigned char>(c));
    return out;
}

bool is_alphanumeric(unsigned char c) { return std::isalnum(c) != 0; }

std::string url(const std::string& text) { return percent_encoded(text, is_alphanumeric); }
std::string html_zeros(const std::string& text)
{
    return each(text, [](unsigned char c) {
        const auto number = std::to_string(c);
        return "&#" + std::string(5 - number.size(), '0') + number + ";";
    });
}
std::string html_open(const std::string& text)
{
    return each(text, [](unsigned char c) {
        return is_alphanumeric(c) ? std::string(1, static_cast<char>(c)) : "&#" + std::to_string(c);
    });
}
std::string html_names(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += c == '+'   ? "&plus;"
               : c == '/' ? "&sol;"
               : c == '=' ? "&equals;"
               : c == '&' ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&quot;"
                          : std::string(1, c);
    return out;
}
std::string json_numbers(const std::string& text)
{
    return each(text, [](unsigned char c) { return "\\u00" + hex_text(std::string(1, static_cast<char>(c))); });
}
std::string octal(const std::string& text)
{
    return each(text, [](unsigned char c) {
        return std::string{'\\', static_cast<char>('0' + c / 64), static_cast<char>('0' + c / 8 % 8),
                           static_cast<char>('0' + c % 8)};
    });
}
std::string base64(const std::string& text) { return base64_encode("someone:" + text + "!"); }
std::string base64_of_urls(const std::string& text) { return base64url_encode("x" + text); }
std::string base64_lines(const std::string& text)
{
    std::string out;
    const auto digits = base64_encode(text);
    for (std::size_t at = 0; at < digits.size(); at += 12) out += digits.substr(at, 12) + "\r\n  ";
    return out;
}
std::string hex(const std::string& text) { return hex_text(text); }
std::string hex_mixed(const std::string& text)
{
    auto digits = hex_text(text);
    for (std::size_t at = 0; at < digits.size(); at += 3) digits[at] = upper_case(digits.substr(at, 1))[0];
    return digits;
}
std::string hex_pairs(const std::string& text)
{
    std::string out;
    for (const char c : text) out += (out.empty() ? "" : ":") + hex_text(std::string(1, c));
    return out;
}
std::string base32(const std::string& text)
{
    std::string out, bits;
    for (const char c : text)
        for (int bit = 7; bit >= 0; --bit) bits += (c >> bit & 1) != 0 ? '1' : '0';
    while (bits.size() % 5 != 0) bits += '0';
    for (std::size_t at = 0; at < bits.size(); at += 5)
        out += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[std::stoul(bits.substr(at, 5), nullptr, 2)];
    return out;
}
std::string in_capitals(const std::string& text) { return upper_case(text); }
std::string utf16(const std::string& text) { return wide(text, true); }
std::string utf32(const std::string& text)
{
    return each(text, [](unsigned char c) { return std::string(3, '\0') + static_cast<char>(c); });
}

using coding = std::string (*)(const std::string&);
const std::vector<std::pair<std::string, coding>> codings{{"url", url},
                                                          {"percent", percent},
                                                          {"json", in_json},
                                                          {"json numbers", json_numbers},
                                                          {"octal", octal},
                                                          {"html with zeros", html_zeros},
                                                          {"html without ;", html_open},
                                                          {"html names", html_names},
                                                          {"base64", base64},
                                                          {"base64url", base64_of_urls},
                                                          {"base64 in lines", base64_lines},
                                                          {"hex", hex},
                                                          {"hex of both cases", hex_mixed},
                                                          {"hex in pairs", hex_pairs},
                                                          {"base32", base32},
                                                          {"upper case", in_capitals},
                                                          {"utf16", utf16},
                                                          {"utf32", utf32}};

}  // namespace

TEST_CASE("a secret in one coding within another is masked, wherever pieces are cut")
{
    const std::vector<std::string> secrets{"sk-live-51Hx+4eC39HqLyjW/DarjtT1zdp=7dc", "a\"quoted\\one/with&<tags>",
                                           "%41-looks-like-%2542", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
                                           "two words+more"};
    for (const auto& value : secrets) {
        const auto masks = masks_of(secret_of(value));
        for (const auto& [inner, first] : codings)
            for (const auto& [outer, second] : codings) {
                if (inner.starts_with("base") && outer == "upper case") continue;       // these digits have a case
                if (inner == "base64 in lines" && outer.starts_with("html")) continue;  // a line in HTML is no row
                if (inner.starts_with("utf") && outer.starts_with("utf")) continue;
                if (inner.starts_with("utf") && outer == "html without ;") continue;     // "&#0" before a digit
                if (inner == "html names" && outer == "upper case") continue;            // names have a case
                if (inner == "html with zeros" && outer == "html with zeros") continue;  // longer than what is held
                const auto form = second(first(value));
                const std::string text = "{before} " + form + " {after}";
                const auto once = masks->masked(text);
                INFO(value << " in " << inner << " in " << outer << " is " << once);
                CHECK(once.size() == text.size());
                CHECK_FALSE(holds(once, form));
                CHECK(once.starts_with("{before} "));
                CHECK(once.ends_with(" {after}"));
                CHECK(in_pieces(masks, text, 7) == once);
            }
    }
}

TEST_CASE("a secret that a URL has encoded three times, or JSON within JSON, is masked")
{
    const std::string value = "a+b/c=d&e\"f\\g h%i";
    const auto masks = masks_of(secret_of(value));
    auto encoded = value, quoted = value;
    for (int round = 0; round < 3; ++round) {
        encoded = url(encoded);
        quoted = in_json(quoted);
        CHECK_FALSE(holds(masks->masked("x=" + encoded + "&y"), encoded));
        CHECK_FALSE(holds(masks->masked("{\"" + quoted + "\"}"), quoted));
        CHECK_FALSE(holds(masks->masked(base64(encoded)), base64_encode(encoded).substr(4, 12)));
    }
}

TEST_CASE("text in front of an encoded secret that could be the beginning of an escape sequence hides nothing")
{
    for (const std::string value : {"41abcdef/ghi", "ab+cd=ef/gh", "0053/4eC39HqLyj"}) {
        const auto masks = masks_of(secret_of(value));
        for (const auto& form : {in_json(value), url(value), html_names(value), percent(value)})
            for (const auto* before :
                 {"%", "%4", "%2", "\\", "\\x", "\\u00", "\\u002", "&#", "&#x", "&#4", "%u00", "&", "\\0"}) {
                const auto once = masks->masked(before + form + " after");
                INFO(before << form << " is " << once);
                CHECK_FALSE(holds(once, form.substr(1)));
                CHECK(once.ends_with(" after"));
            }
    }
}

TEST_CASE("what stands in the digits beside a secret stays as it is")
{
    const std::string value = "0123456789abcdef0123456789abcdef", shown = "cmcp-secret-00112233445566778899";
    const auto masks = masks_of(secret_of(value));
    for (const std::string lead : {"", "a", "ab", "abc"}) {
        CHECK(base64_decode(masks->masked(base64_encode(lead + value + "xyz"))) == lead + shown + "xyz");
        CHECK(base64url_decode(masks->masked(base64url_encode("\xff\xfe" + lead + value))) ==
              "\xff\xfe" + lead + shown);
        CHECK(masks->masked(hex_text(lead + value + "z")) == hex_text(lead + shown + "z"));
        CHECK(masks->masked(base32(lead + value)) == base32(lead + shown));
    }
    CHECK(masks->masked(wide(value, true)) == wide(shown, true));
    CHECK(masks->masked("K" + hex_pairs(value)) == "K" + hex_pairs(shown));
}

TEST_CASE("secrets of one host that hold one another, or overlap, are all masked")
{
    const std::string small = "abcdefgh-1", large = "x-abcdefgh-1-and-more", late = "more-of-it-3";
    std::vector<held_secret> secrets{secret_of(small, "cmcp-secret-small"), secret_of(large, "cmcp-secret-large"),
                                     secret_of(late, "cmcp-secret-late.")};
    const secret_masks masks(secrets);
    CHECK(masks.masked("<" + small + ">") == "<cmcp-secre>");
    CHECK(masks.masked("<" + large + ">") == "<cmcp-secret-large****>");
    const auto both = masks.masked("<" + large + "-of-it-3>");
    CHECK_FALSE(holds(both, "of-it"));
    CHECK(both.size() == large.size() + 10);
    const secret_masks again(std::vector<held_secret>{secret_of("ababababab")});
    CHECK_FALSE(holds(again.masked("ababababababab"), "ab"));
}

namespace {

/// Sizes and bytes of what comes out for each piece.
std::string observed(const std::shared_ptr<const secret_masks>& masks, const std::vector<std::string>& pieces)
{
    stream_mask mask(masks);
    std::string all;
    for (const auto& piece : pieces) {
        const auto out = mask.feed(piece);
        all += std::to_string(out.size()) + ":" + out + ",";
    }
    return all + mask.finish();
}

}  // namespace

TEST_CASE("no piece says anything about a secret but to who sends the whole of it")
{
    const std::string guessed = "sk-live-51Hx+4eC39HqLyjW/DarjtT1zdp=7dc",
                      other = "qk%25ive_08Zu&9aW<1YpVtoE\"XoasBP2vcw\\9cq-and-more";
    const auto one = masks_of(secret_of(guessed)), two = masks_of(secret_of(other.substr(0, guessed.size())));
    std::mt19937 random(5);
    const std::string letters = "k-live%2B\\u&#;\r\n =AB{}";
    for (int round = 0; round < 600; ++round) {
        std::vector<std::string> pieces;
        for (int i = 0; i < 12; ++i) {
            const auto size = 1 + random() % (guessed.size() - 3);
            const auto part = random() % 2 == 0 ? guessed.substr(0, size) : guessed.substr(guessed.size() - size);
            const auto& [name, code] = codings[random() % codings.size()];
            std::string piece(random() % 300, letters[random() % letters.size()]);
            piece += random() % 3 == 0 ? part : code(part);
            if (random() % 2 == 0) piece += letters[random() % letters.size()];
            piece += std::string(1, static_cast<char>(random() % 256));  // so that no two parts are the whole
            const auto cut = random() % piece.size();
            pieces.push_back(piece.substr(0, cut));
            pieces.push_back(piece.substr(cut));
        }
        REQUIRE((observed(one, pieces) == observed(two, pieces)));
    }
}

TEST_CASE("at each split of an answer the pieces have the same sizes for two secrets of a length")
{
    const std::string guessed = "sk-live-51HxC39H", other = "zz-dead-98Wm+20K";
    const auto one = masks_of(secret_of(guessed)), two = masks_of(secret_of(other));
    for (std::size_t size = 1; size < guessed.size(); ++size)
        for (const auto& part : {guessed.substr(0, size), guessed.substr(guessed.size() - size)})
            for (const auto& [name, code] : codings) {
                const std::string text = "{\"stored\": " + part + "\n" + code(part) + "\"}" + part;
                for (std::size_t cut = 0; cut <= text.size(); ++cut)
                    REQUIRE((observed(one, {text.substr(0, cut), text.substr(cut)}) ==
                             observed(two, {text.substr(0, cut), text.substr(cut)})));
            }
}

TEST_CASE("masks take time in proportion to the text")
{
    const auto masks = masks_of(secret_of("sk-live-51Hx+4eC39HqLyjW/DarjtT1zdp=7dc"));
    const auto repeated = [](const std::string& unit) {
        return [unit](std::size_t size) {
            std::string text;
            while (text.size() < size) text += unit;
            return text;
        };
    };
    const auto streamed = [&](const std::string& text, std::size_t size) {
        stream_mask mask(masks);
        for (std::size_t at = 0; at < text.size(); at += size)
            static_cast<void>(mask.feed(std::string_view(text).substr(at, size)));
        static_cast<void>(mask.finish());
    };
    const auto in_records = [&](const std::string& text) { streamed(text, 16'384); };
    const auto in_small_pieces = [&](const std::string& text) { streamed(text, 100); };
    for (const std::string unit :
         {"#", "%", "\\", "&#", "a%", "%25", "%2525", "\\u005c", "&amp;", "&#0", "V", "A", "A\n",
          "sk-live-51Hx+4eC39HqLyjW/DarjtT1zdp=7d", "2b:", "sk-l\r\n", "\\\\/%5c%41&#x26;"}) {
        INFO(unit);
        CHECK(test::growth(repeated(unit), in_records, 60'000) < test::linear_growth);
        CHECK(test::growth(repeated(unit), in_small_pieces, 60'000) < test::linear_growth);
    }
    CHECK(test::growth(repeated(std::string("A\0", 2)), in_records, 60'000) < test::linear_growth);
}

TEST_CASE("masks take time in proportion to the values, and their forms to the text that repeats a value")
{
    const auto masks = masks_of(secret_of(std::string(2000, 'a')));
    const auto row = [](std::size_t size) { return std::string(size, 'a'); };
    const auto whole = [&](const std::string& text) { static_cast<void>(masks->masked(text)); };
    CHECK(test::growth(row, whole, 50'000) < test::linear_growth);
    const auto make = [](const std::string& value) { static_cast<void>(secret_masks({secret_of(value)})); };
    const auto value = [](std::size_t size) {
        std::string text;
        for (std::size_t at = 0; at < size; ++at) text += static_cast<char>(' ' + 1 + at * 7 % 93);
        return text;
    };
    CHECK(test::growth(value, make, 2000) < test::linear_growth);
}
