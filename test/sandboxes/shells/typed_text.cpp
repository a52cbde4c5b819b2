#include "shells/typed_text.hpp"

#include "test/support/catch.hpp"

#include <algorithm>
#include <string>

using namespace cmcp;

namespace {

constexpr terminal_reader at_prompt{.is_shell = true, .takes_pastes = true};
constexpr terminal_reader editor{.takes_pastes = true};
constexpr terminal_reader by_line{.by_line = true};

std::string typed(std::string_view text, const terminal_reader& reader) { return type_as_text(text, reader).bytes; }

}  // namespace

TEST_CASE("text at the prompt of a shell has no tab that completes")
{
    CHECK(typed("echo 1\n", at_prompt) == "echo 1\n");
    CHECK(typed("printf 'a\tb'\n", at_prompt) == "printf 'a\x16\tb'\n");
    CHECK(typed("cat <<X\n\tin\nX\n", at_prompt) == "cat <<X\n\x16\tin\nX\n");
    CHECK(typed("cat <<X\r\nin\r\nX\r\n", at_prompt) == "cat <<X\nin\nX\n");
    CHECK(typed("one\r\ntwo\r", by_line) == "one\ntwo\r");
    CHECK(wants_steps("cat <<X\n\tin\nX\n"));
    CHECK(wants_steps("cat > f\n" + std::string(5000, 'x') + "\n"));
    for (const char* text : {"printf 'a\tb'\n", "one\ntwo\n", "\tone\ntwo", "vim\n\ti\x1b"})
        CHECK_FALSE(wants_steps(text));
}

TEST_CASE("text of several lines is pasted where a program asked for pastes, and its last line feed is Enter")
{
    CHECK(typed("one\n", editor) == "one\r");
    CHECK(typed(":wq\n", editor) == ":wq\r");
    CHECK(typed("if x:\n    y\n\n", editor) == "\x1b[200~if x:\r    y\x1b[201~\r\r");
    CHECK(typed("a\tb", editor) == "\x1b[200~a\tb\x1b[201~");
    CHECK(typed("a\r\nb\r\n", editor) == "\x1b[200~a\rb\x1b[201~\r");
}

TEST_CASE("an editor of the whole screen gets text as keys, because letters are its commands")
{
    constexpr terminal_reader vim{.takes_pastes = true, .whole_screen = true};
    CHECK(typed(":s/two/three/\n:wq\n", vim) == ":s/two/three/\n:wq\n");
    CHECK(typed("ia\tb", vim) == "ia\tb");
    CHECK(type_as_text("ia\tb", vim).note.empty());
}

TEST_CASE("text with control characters is typed as keys")
{
    for (const auto& reader : {at_prompt, editor, by_line}) {
        CHECK(typed("\x03", reader) == "\x03");
        CHECK(typed("ione\n\ttwo\x1b:wq\n", reader) == "ione\n\ttwo\x1b:wq\n");
    }
}

TEST_CASE("a long line is handed over in pieces to a program that reads lines")
{
    const std::string line(5000, 'x');
    std::string pieces = typed(line + "\nshort\ttab\n", by_line);
    CHECK(pieces.size() == line.size() + 2 + std::string("\nshort\ttab\n").size());
    std::size_t longest = 0, length = 0;
    for (const char c : pieces) {
        length = c == '\n' || c == '\x04' ? 0 : length + 1;
        longest = std::max(longest, length);
    }
    CHECK(longest < 4096);
    std::erase(pieces, '\x04');
    CHECK(pieces == line + "\nshort\ttab\n");
    std::string wide;
    for (int i = 0; i < 3000; ++i) wide += "\xc3\xa9";
    CHECK(typed(wide, by_line).find("\xc3\x04") == std::string::npos);
    CHECK(typed(line.substr(0, 2048) + "\n", by_line) == line.substr(0, 2048) + "\n");
}

TEST_CASE("tabs to a program that takes no pastes are keys, and that is told")
{
    CHECK(type_as_text("a\tb", {}).bytes == "a\tb");
    CHECK_FALSE(type_as_text("a\tb", {}).note.empty());
    CHECK(type_as_text("a b\n", {}).note.empty());
}
