#include "text/terminal_text.hpp"
#include "test/support/catch.hpp"
#include "test/support/doubling.hpp"

#include <random>
#include <string>
#include <utility>

using namespace cmcp;
using namespace cmcp::test;

TEST_CASE("a text is what a terminal shows of it in the end")
{
    const std::pair<std::string, std::string> rows[] = {
        {"plain\ntext\n", "plain\ntext\n"},
        {"of Windows\r\n", "of Windows\n"},
        {"10%\r20%\r100%\n", "100%\n"},
        {"100%\r7%\n", "7%0%\n"},
        {"100%\r7%  \n", "7%\n"},
        {"100%\r\x1b[K7%", "7%"},
        {"a\x1b[2Kb\n", "b\n"},
        {"wrong\b\b\bng\n", "wrngg\n"},
        {"\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m\n", "red and blue\n"},
        {"\x1b]0;a title\adone\n", "done\n"},
        {"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", "link\n"},
        {"größer\rkl\n", "klößer\n"},
        {"a\x1b[9999Cb\x1b[1Gc\n", "c b\n"},
        {"\r", ""},
        {"\x1b", ""},
        {"\x1b[", ""},
        {"", ""}};
    for (const auto& [printed, shown] : rows) {
        INFO(printed);
        CHECK(as_terminal_shows(printed) == shown);
    }
    std::string progress;
    for (int i = 0; i <= 300; ++i) progress += "\rprogress " + std::to_string(i / 3) + "%";
    CHECK(as_terminal_shows(progress) == "progress 100%");
}

TEST_CASE("no text grows by being shown, whatever its control sequences are")
{
    std::mt19937 dice(3);
    const std::string pieces[] = {"\x1b[", "\x1b]", "\x1b", "C",    "K", "2K", "9999", ";", "G",         "\r",
                                  "\b",    "\n",    "ä",    "wort", " ", "\a", "\\",   "m", "\x1b[9999C"};
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (int left = 40; left > 0; --left) text += pieces[dice() % std::size(pieces)];
        const auto shown = as_terminal_shows(text);
        CHECK(shown.size() <= text.size());
        CHECK(shown.find('\x1b') == std::string::npos);
        CHECK(shown.find('\r') == std::string::npos);
    }
}

TEST_CASE("showing a text takes time in proportion to its length")
{
    const auto progress = [](std::size_t size) {
        std::string text(size / 2, 'x');
        while (text.size() < size) text += "\r\x1b[Ka\b\b\x1b[5Cb";
        return text;
    };
    CHECK(growth(
              progress, [](const std::string& text) { return as_terminal_shows(text).size(); }, 400'000) <
          linear_growth);
}

TEST_CASE("bytes that are no text are told from text")
{
    std::string bytes;
    std::mt19937 dice(5);
    for (int i = 0; i < 500; ++i)
        bytes += dice() % 3 == 0 ? "\xEF\xBF\xBD" : std::string(1, static_cast<char>(dice() % 128));
    CHECK(looks_binary(bytes));
    CHECK(looks_binary(std::string(100, '\0')));
    CHECK_FALSE(looks_binary("caf\xEF\xBF\xBD\n"));
    CHECK_FALSE(looks_binary("\x1b[1mtest\x1b[0m\tok\r\n"));
    CHECK_FALSE(looks_binary(std::string(10'000, 'a') + std::string(10'000, '\0')));
    CHECK_FALSE(looks_binary(""));
}
