#include "runs/output_collector.hpp"
#include "test/support/catch.hpp"
#include "text/utf8_text.hpp"

using namespace cmcp;

namespace {

std::string cleaned(std::initializer_list<std::string_view> pieces)
{
    utf8_cleaner cleaner;
    std::string text;
    for (const auto piece : pieces) text += cleaner.add(piece);
    return text + cleaner.finish();
}

const std::string euro = "\xE2\x82\xAC";
const std::string unknown = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("valid text passes unchanged")
{
    CHECK(cleaned({"plain, \xC3\xA4, " + euro + ", \xF0\x9F\x98\x80"}) ==
          "plain, \xC3\xA4, " + euro + ", \xF0\x9F\x98\x80");
    CHECK(cleaned({std::string_view("a\0b", 3)}) == std::string("a\0b", 3));
}

TEST_CASE("a character split between pieces is put together")
{
    CHECK(cleaned({"\xE2", "\x82", "\xAC!"}) == euro + "!");
    CHECK(cleaned({"\xF0\x9F", "\x98\x80"}) == "\xF0\x9F\x98\x80");
}

TEST_CASE("what is not UTF-8 is replaced")
{
    CHECK(cleaned({"a\xFFz"}) == "a" + unknown + "z");
    CHECK(cleaned({"\xE2\x82", "z"}) == unknown + "z");
    CHECK(cleaned({"\xE2\x82"}) == unknown);
    CHECK(cleaned({"\xC0\x80"}) == unknown + unknown);                // overlong
    CHECK(cleaned({"\xED\xA0\x80"}) == unknown + unknown + unknown);  // a surrogate
    CHECK(cleaned({"\xF4\x90\x80\x80"}) == unknown + unknown + unknown + unknown);
}

TEST_CASE("text is cut between characters")
{
    const std::string text = euro + euro;
    CHECK(utf8_prefix(text, 5) == euro);
    CHECK(utf8_suffix(text, 5) == euro);
    CHECK(utf8_prefix(text, 6) == text);
    CHECK(utf8_suffix(text, 2).empty());
}

TEST_CASE("short output is kept whole")
{
    captured_stream stream(10);
    stream.add("12345");
    stream.add("67890");
    stream.finish();
    CHECK_FALSE(stream.truncated());
    CHECK(stream.text("") == "1234567890");
}

TEST_CASE("of long output head and tail are kept and the gap is named")
{
    captured_stream stream(10);
    for (int i = 0; i < 1000; ++i) stream.add("abcdefghij");
    stream.finish();
    CHECK(stream.truncated());
    CHECK(stream.bytes() == 10000);
    CHECK(stream.text("file.txt") == "abcde\n[... 9990 bytes left out here; all of it: file.txt ...]\nfghij");
}

TEST_CASE("head and tail end between characters")
{
    captured_stream stream(10);
    for (int i = 0; i < 50; ++i) stream.add(euro);
    stream.finish();
    CHECK(stream.text("") == euro + "\n[... 144 bytes left out here ...]\n" + euro);
}

TEST_CASE("nothing is kept when nothing is wanted")
{
    captured_stream stream(0);
    stream.add("text");
    stream.finish();
    CHECK(stream.truncated());
    CHECK(stream.text("") == "\n[... 4 bytes left out here ...]\n");
}
