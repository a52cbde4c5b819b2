#include "shells/typed_text.hpp"

#include <algorithm>

namespace cmcp {
namespace {

constexpr std::size_t longest_line_by_terminal = 4095;  // N_TTY_BUF_SIZE - 1, and the line feed
constexpr std::size_t handed_over_at_once = 2048;
constexpr const char* literal_tab = "\x16\t";  // quoted-insert, VLNEXT
constexpr const char* begins_paste = "\x1b[200~";
constexpr const char* ends_paste = "\x1b[201~";

bool is_control(char c)
{
    const auto code = static_cast<unsigned char>(c);
    return (code < ' ' && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;
}

std::size_t length_of_longest_line(std::string_view text)
{
    std::size_t longest = 0, length = 0;
    for (const char c : text) {
        length = c == '\n' || c == '\r' ? 0 : length + 1;
        longest = std::max(longest, length);
    }
    return longest;
}

std::string replaced(std::string_view text, char what, std::string_view by)
{
    std::string out;
    for (const char c : text) {
        if (c == what)
            out += by;
        else
            out += c;
    }
    return out;
}

// A line of Windows ends once; the terminal would take its carriage return for an Enter of its own.
std::string with_line_feeds(std::string_view text)
{
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') out += text[at];
    return out;
}

// The terminal keeps 4095 bytes of a line that nobody has been given; what it has handed over does not count.
std::string in_handed_pieces(std::string_view text, char end_of_input)
{
    std::string out;
    std::size_t length = 0;
    for (const char c : text) {
        const bool starts_character = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        if (length >= handed_over_at_once && starts_character && c != '\n' && c != '\r') {
            out += end_of_input;
            length = 0;
        }
        out += c;
        length = c == '\n' || c == '\r' ? 0 : length + 1;
    }
    return out;
}

std::string as_paste(std::string_view text)
{
    const std::size_t last = text.find_last_not_of("\r\n");
    const std::size_t length = last == std::string_view::npos ? 0 : last + 1;
    const auto body = text.substr(0, length);
    std::string out(text.substr(0, length));
    if (body.find_first_of("\t\n\r") != std::string_view::npos)
        out = begins_paste + replaced(replaced(body, '\r', ""), '\n', "\r") + ends_paste;
    return out + replaced(replaced(text.substr(length), '\r', ""), '\n', "\r");
}

}  // namespace

typed_text type_as_text(std::string_view raw, const terminal_reader& reader)
{
    if (std::any_of(raw.begin(), raw.end(), is_control)) return {std::string(raw), ""};
    const std::string text = with_line_feeds(raw);
    if (reader.by_line) return {in_handed_pieces(text, reader.end_of_input), ""};
    if (reader.is_shell) return {replaced(text, '\t', literal_tab), ""};
    if (reader.whole_screen) return {std::string(text), ""};
    if (reader.takes_pastes) return {as_paste(text), ""};
    typed_text typed{text, ""};
    if (text.find('\t') != std::string::npos)
        typed.note =
            "The program in the shell takes no pastes, so it got tabs as the key tab; it may have completed "
            "or skipped something.";
    return typed;
}

bool wants_steps(std::string_view text)
{
    const auto first = text.find('\n');
    const bool keys = std::any_of(text.begin(), text.end(), is_control);
    return !keys && first != std::string_view::npos && wants_prompt(text.substr(first + 1));
}

bool wants_prompt(std::string_view text)
{
    return text.find('\t') != std::string_view::npos || length_of_longest_line(text) > longest_line_by_terminal;
}

}  // namespace cmcp
