#include "shells/plain_output.hpp"
#include "shells/screen_back.hpp"
#include "shells/shell_keys.hpp"
#include "shells/shell_pattern.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <chrono>

using namespace cmcp;
using namespace cmcp::test;

namespace {

std::string plain(std::string_view output) { return plain_output(output, true).text; }

}  // namespace

TEST_CASE("a terminal's output becomes lines without control sequences")
{
    CHECK(plain("one\r\ntwo\r\n") == "one\ntwo\n");
    CHECK(plain("\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b(B") == "red plain");
    CHECK(plain("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\") == "link");
    CHECK(plain("\x1b[?2004h~$ ls\r\n\x1b[?2004l\r") == "~$ ls\n");
    CHECK(plain("tab\tbed") == "tab     bed");
    CHECK(plain("bell\x07") == "bell");
}

TEST_CASE("a line that is written over has its last content")
{
    CHECK(plain("10%\r20%\r100%\r\n") == "100%\n");
    CHECK(plain("long line\rshort\x1b[K\n") == "short\n");
    CHECK(plain("wromg\b\b\bong\n") == "wrong\n");
    CHECK(plain("abc\x1b[2D\x1b[PX") == "aX");
    CHECK(plain("ac\b\x1b[@b") == "abc");
    CHECK(plain("x\x1b[5Gy") == "x   y");
    CHECK(plain("\x1b[1000000000C.").size() == 4096);
}

TEST_CASE("other places of the screen are other lines")
{
    CHECK(plain("\x1b[2J\x1b[1;1Hfirst\x1b[2;1Hsecond\x1b[24;1H:") == "first\nsecond\n:");
}

TEST_CASE("what is cut off is left for the next time")
{
    for (const std::string whole : {"a\r\n", "a\x1b[31m", "a\x1b]0;t\x07", "a\xe2\x82\xac"}) {
        for (std::size_t cut = 2; cut < whole.size(); ++cut) {
            const auto piece = plain_output(std::string_view(whole).substr(0, cut), false);
            INFO(whole << " " << cut);
            CHECK(piece.used == 1);
            CHECK(piece.text == "a");
        }
        CHECK(plain_output(whole, false).used == whole.size());
    }
    CHECK(plain("a\x1b[3") == "a[3");
    CHECK(plain("\xe2\x82") == "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(plain_output("\x1b]0;" + std::string(10'000, 'x'), false).used != 0);
}

TEST_CASE("keys are the bytes that a terminal sends")
{
    CHECK(key_bytes("enter", false) == "\r");
    CHECK(key_bytes("Ctrl-C", false) == "\x03");
    CHECK(key_bytes("ctrl-space", false) == std::string(1, '\0'));
    CHECK(key_bytes("up", false) == "\x1b[A");
    CHECK(key_bytes("up", true) == "\x1bOA");
    CHECK(key_bytes("alt-F", false) ==
          "\x1b"
          "F");
    CHECK(key_bytes("f12", false) == "\x1b[24~");
    for (const char* none : {"", "ctrl-", "ctrl-cc", "hyper-x", "f13", "alt-"}) CHECK_FALSE(key_bytes(none, false));
}

TEST_CASE("old output falls off, and the mode of the keys is seen in pieces")
{
    screen_back output(10);
    output.add("0123456789abcdef");
    CHECK(output.begin() == 6);
    CHECK(output.from(0) == "6789abcdef");
    CHECK(output.from(14) == "ef");
    CHECK(output.from(16).empty());
    output.add(std::string(100, 'x'));
    CHECK(output.begin() == 106);
    CHECK_FALSE(output.application_keys());
    output.add("\x1b[?");
    output.add("1h");
    CHECK(output.application_keys());
    output.add("more\x1b[?1l");
    CHECK_FALSE(output.application_keys());
    output.add("\x1b[?20");
    output.add("04h$ ");
    CHECK(output.takes_pastes());
    output.add("\x1b[?2004l\r\n\x1b[?2004h> ");
    CHECK(output.takes_pastes());
    CHECK(output.pastes_asked() == 2);
    output.add("\x1b[?2004l");
    CHECK_FALSE(output.takes_pastes());
    output.add("\x1b[?1049h\x1b[H");
    CHECK(output.whole_screen());
    output.add("\x1b[?1049l$ ");
    CHECK_FALSE(output.whole_screen());
}

TEST_CASE("a pattern made to take ages ends soon")
{
    CHECK(matches_pattern("line\nend 42", "end \\d+$"));
    CHECK_FALSE(matches_pattern("line", "other"));
    CHECK_FALSE(pattern_problem("(").empty());
    CHECK(pattern_problem("a|b").empty());
    const auto began = std::chrono::steady_clock::now();
    CHECK_FALSE(matches_pattern(std::string(4096, 'a'), "(a|aa|a*)*(a|aa|a*)*(a|aa|a*)*(a|aa|a*)*(a|aa|a*)*b"));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

TEST_CASE("hostile output becomes text in time and size in the measure of its length")
{
    for (const std::string_view piece : {"\x1b[@x", "\x1b[999@", "\x1b[P", "\x1b[1K", "\x1b[4095Cx\n",
                                         "\x1b[4095Gx\x1b[1K", "\t", "\x1b]", "\x1b[1", "\xff", "x\r", "\x1b[H"}) {
        const auto flood = [&](std::size_t bytes) {
            std::string output(4000, 'x');
            output += '\r';
            while (output.size() < bytes) output += piece;
            return output;
        };
        INFO(piece);
        const auto output = flood(256 * 1024);
        CHECK(plain(output).size() <= 3 * output.size() + 512 * 1024);
        CHECK(test::growth(
                  flood, [](const std::string& bytes) { plain_output(bytes, true); }, 256 * 1024) <
              test::linear_growth);
    }
}

TEST_CASE("a line keeps its width where characters are inserted")
{
    CHECK(plain(std::string(4096, 'x') + "\r\x1b[10@y\n").size() == 4097);
    CHECK(plain("ab\x1b[1K\n") == "  \n");
}

TEST_CASE("an expression that backtracks for ever is given up, however long the text is")
{
    const auto text = [](std::size_t size) { return std::string(size, 'a'); };
    for (const char* pattern :
         {"(a+)+b", "(a|a)*b", "(a*)*$x", "(.*)*=", "((a*)*)*b", "(?:a|aa)+$x", "(\\w+\\s?)+:$"}) {
        CAPTURE(pattern);
        CHECK_FALSE(matches_pattern(text(4096), pattern));
        const auto compare = [pattern](const std::string& longer) { matches_pattern(longer, pattern); };
        CHECK(growth(text, compare, 2048) < linear_growth);
    }
    CHECK(matches_pattern(std::string(4000, 'a') + "b", "a+b"));
    CHECK(matches_pattern("total 12\n~$ ", "^~[$#] $"));
    CHECK(matches_pattern("a=1 b=22 c=333", "(?<=b=)\\d{2}\\b"));
    CHECK(matches_pattern("one two two", "(\\w+) \\1"));
}
