#include "shells/terminal_screen.hpp"
#include "shells/shell_screen.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <ctime>

using namespace cmcp;

namespace {

/// Five rows of ten columns.
struct drawing {
    terminal_screen screen{10, 5};

    explicit drawing(std::string_view output) { screen.write(output); }
    std::string text() const  // without the empty rows at the end
    {
        const std::string all = screen.text();
        return all.substr(0, all.find_last_not_of('\n') + 1);
    }
    std::pair<std::size_t, std::size_t> cursor() const { return {screen.cursor_row(), screen.cursor_column()}; }
};

std::string drawn(std::string_view output) { return drawing(output).text(); }

const std::string five = "1\r\n2\r\n3\r\n4\r\n5";

}  // namespace

TEST_CASE("a screen has a line for each row, wraps and scrolls")
{
    CHECK(terminal_screen(10, 3).text() == "\n\n\n");
    CHECK(drawn("0123456789ab") == "0123456789\nab");
    CHECK(drawing("0123456789").cursor() == std::pair<std::size_t, std::size_t>(0, 9));
    CHECK(drawn("0123456789\r\nab") == "0123456789\nab");
    CHECK(drawn("\x1b[?7l0123456789ab") == "012345678b");
    CHECK(drawn(five + "\r\n6") == "2\n3\n4\n5\n6");
    CHECK(drawn("a\tb\b\bc") == "a      cb");
    CHECK(drawn("ab\rc") == "cb");
}

TEST_CASE("a cursor goes where it is sent, and no further than the screen")
{
    CHECK(drawn("\x1b[2;3Hx\x1b[Ay\x1b[3Bz") == "   y\n  x\n\n    z");
    CHECK(drawing("\x1b[99;99H").cursor() == std::pair<std::size_t, std::size_t>(4, 9));
    CHECK(drawing("\x1b[99A\x1b[99D").cursor() == std::pair<std::size_t, std::size_t>(0, 0));
    CHECK(drawing("\x1b[18446744073709551615;99999999999999999999C").cursor().first == 0);
    CHECK(drawn("\x1b[4d\x1b[5Gx") == "\n\n\n    x");
    CHECK(drawn("ab\x1b"
                "7\x1b[3;3H\x1b"
                "8c") == "abc");
}

TEST_CASE("rows and parts of them are erased, inserted and removed")
{
    CHECK(drawn("abcdef\x1b[3D\x1b[K") == "abc");
    CHECK(drawn("abcdef\x1b[3D\x1b[1K") == "    ef");
    CHECK(drawn("abcdef\x1b[3D\x1b[P") == "abcef");
    CHECK(drawn("abcdef\x1b[3D\x1b[2@") == "abc  def");
    CHECK(drawn("abcdef\x1b[4D\x1b[2X") == "ab  ef");
    CHECK(drawn("abc\x1b[2D\x1b[4hxy\x1b[4l") == "axybc");
    CHECK(drawn(five + "\x1b[2H\x1b[J") == "1");
    CHECK(drawn(five + "\x1b[2H\x1b[L") == "1\n\n2\n3\n4");
    CHECK(drawn(five + "\x1b[2H\x1b[2M") == "1\n4\n5");
    CHECK(drawn("ab\x1b[3b") == "abbbb");
}

TEST_CASE("a region scrolls alone")
{
    CHECK(drawn(five + "\x1b[2;4r\x1b[4H\n") == "1\n3\n4\n\n5");
    CHECK(drawn(five + "\x1b[2;4r\x1b[2H\x1bM") == "1\n\n2\n3\n5");
    CHECK(drawn(five + "\x1b[2;4r\x1b[5H\n") == five.substr(0, 0) + "1\n2\n3\n4\n5");
    CHECK(drawn(five + "\x1b[2;4r\x1b[S") == "1\n3\n4\n\n5");
    CHECK(drawn(five + "\x1b[2;4r\x1b[99T") == "1\n\n\n\n5");
}

TEST_CASE("a full-screen program has a screen of its own, and leaves the one before")
{
    CHECK(drawn("shell\x1b[?1049h\x1b[Hprogram") == "program");
    CHECK(drawn("shell\x1b[?1049h\x1b[Hprogram\x1b[?1049l$") == "shell$");
}

TEST_CASE("lines are drawn, wide characters take two columns, and others join the one before")
{
    CHECK(drawn("\x1b(0lqk\x1b(Blqk") == "┌─┐lqk");
    CHECK(drawing("漢字").cursor().second == 4);
    CHECK(drawn("漢字\x1b[1;2Hx") == " x字");
    CHECK(drawn("漢字\x1b[1;3H\x1b[K") == "漢");
    CHECK(drawn("123456789漢") == "123456789\n漢");
    CHECK(drawing("e\u0301").cursor().second == 1);
}

TEST_CASE("output may be cut anywhere, and what is none leaves the screen as it is")
{
    const std::string output = "ab\x1b[2;3H\x1b]0;title\x07漢\x1b(0q\x1b(B\x1b[?25l\x1b[38;5;1mz\x1b[0m\x1b[2 q";
    drawing whole(output), pieces("");
    for (const char each : output) pieces.screen.write({&each, 1});
    CHECK(whole.text() == "ab\n  漢─z");
    CHECK(pieces.text() == whole.text());
    CHECK(drawn("a\xff\x1bPq12\x1b\\b\x1b[1$rc") ==
          "a\xef\xbf\xbd"
          "bc");
}

TEST_CASE("a screen of another size keeps what fits")
{
    drawing shown(five);
    shown.screen.resize(4, 3);
    CHECK(shown.text() == "3\n4\n5");
    shown.screen.write("\x1b[99;99Hx\r\n");
    CHECK(shown.text() == "4\n5  x");
    shown.screen.resize(1, 1);
    shown.screen.write("漢abc");
    CHECK(shown.text() == "c");
}

TEST_CASE("a screen is drawn from what is new, at the size that the terminal had")
{
    const auto screen = std::make_shared<shell_screen>(sandbox::terminal_size{10, 5});
    const auto draw = [&](std::uint64_t position, std::string bytes, std::vector<size_change> sizes) {
        return whole(shell_screen::draw(screen, position, std::move(bytes), std::move(sizes)));
    };
    CHECK(draw(0, "abc", {}).text == "abc\n\n\n\n\n");
    const auto later = draw(0, "abcdefghijklm", {{1, 3, {5, 2}}});
    CHECK(later.text == "fghij\nklm\n");
    CHECK(later.cursor_row == 2);
    CHECK(later.cursor_column == 4);
    CHECK(draw(0, "abcdefghijklm", {{1, 3, {5, 2}}}).text == later.text);  // once only
    CHECK(draw(100, "\x1b[2J\x1b[Hlate", {}).text == "late\n\n");
}

TEST_CASE("a screen is drawn in slices, and they make the same screen")
{
    std::string output;
    for (int i = 0; i < 3000; ++i)
        output += "\x1b[" + std::to_string(i % 7 + 1) + ";3H\x1b[2Lline " + std::to_string(i);
    terminal_screen at_once(40, 10);
    at_once.write(output.substr(0, 20'000));
    at_once.resize(30, 8);
    at_once.write(output.substr(20'000));
    auto work = shell_screen::draw(std::make_shared<shell_screen>(sandbox::terminal_size{40, 10}), 0, output,
                                   {{1, 20'000, {30, 8}}});
    std::optional<shell_picture> picture;
    std::size_t slices = 0;
    for (; !picture; ++slices) picture = work(slice_end::min());  // each has no time but for a piece
    CHECK(slices > 10);
    CHECK(picture->text == at_once.text());
}

TEST_CASE("a character is repeated as if it were written several times")
{
    for (const std::string before : {"", "\x1b[?7l", "\x1b[4h", "\x1b(0"}) {
        for (const std::string character : {"a", "\xe4\xb8\x96", "q"}) {
            terminal_screen repeated(7, 3), written(7, 3);
            repeated.write(before + "12345\x1b[2;3H" + character + "\x1b[11b|");
            written.write(before + "12345\x1b[2;3H" + character);
            for (int i = 0; i < 7; ++i) written.write(character);  // no more than the screen is wide
            written.write("|");
            CHECK(repeated.text() == written.text());
            CHECK(repeated.cursor_column() == written.cursor_column());
        }
    }
}

TEST_CASE("rows that were empty are where they would be without a look at what is empty")
{
    terminal_screen screen(5, 6);
    screen.write("a\r\nb\x1b[1;1H\x1b[2T");
    CHECK(screen.text() == "\n\na\nb\n\n\n");
    screen.write("\x1b[9T");
    CHECK(screen.text() == "\n\n\n\n\n\n");
    screen.write("\x1b[2;4rc\x1b[2Tx\x1b[1S");
    CHECK(screen.text() == "cx\n\n\n\n\n\n");
    screen.write("\x1b[3;1Hd\x1b[L\x1b[r\x1b[6;1He\x1b[1;1H\x1b[4S");
    CHECK(screen.text() == "\ne\n\n\n\n\n");
    screen.write(
        "\x1b"
        "cz");
    CHECK(screen.text() == "z\n\n\n\n\n\n");
}

TEST_CASE("hostile output takes time in the measure of its length")
{
    for (const std::string_view piece :
         {"\x1b[J", "\n", "\x1b[999;999Hx\x1b[1K", "\x1b[999b", "\x1b[@", "\x1bM",
          "\x1b"
          "c",
          "\x1b[?1049h\x1b[?1049l", "\x1b[L", "\x1b[999S", "\x1b]", "\x1b[0", "\x1b[4hx", "\x1b[999;1Hx\x1b[999T"}) {
        const auto flood = [&](std::size_t bytes) {
            std::string output;
            while (output.size() < bytes) output += piece;
            return output;
        };
        INFO(piece);
        CHECK(test::growth(
                  flood, [](const std::string& output) { terminal_screen(1000, 1000).write(output); }, 256 * 1024) <
              test::linear_growth);
    }
}

// Processor time, which a busy machine does not lengthen; a screen that is written anew for each piece takes hours.
TEST_CASE("hostile output is drawn in a moment")
{
    const std::clock_t began = std::clock();
    for (const std::string_view piece : {"\x1b[J", "\n", "\x1b[999;999Hx\x1b[1K", "\x1b[999b", "\x1b[@", "\x1bM",
                                         "\x1b[?1049h\x1b[?1049l", "\x1b[L", "\x1b[999S", "\x1b]"}) {
        std::string flood;
        while (flood.size() < 256 * 1024) flood += piece;
        terminal_screen(1000, 1000).write(flood);
    }
#if defined(__SANITIZE_THREAD__)
    constexpr int most_seconds = 600;
#else
    constexpr int most_seconds = 60;
#endif
    CHECK((std::clock() - began) / CLOCKS_PER_SEC < most_seconds);
}
