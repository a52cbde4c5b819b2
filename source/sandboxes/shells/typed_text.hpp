#pragma once

#include <string>
#include <string_view>

namespace cmcp {

/// The program that reads what is typed in a terminal.
struct terminal_reader {
    bool by_line = false;       ///< the terminal hands lines over whole, up to 4095 bytes of each
    char end_of_input = 4;      ///< the character that hands over what is there, VEOF
    bool is_shell = false;      ///< the shell itself is in the foreground, not a program that it started
    bool takes_pastes = false;  ///< it has asked for bracketed pastes
    bool whole_screen = false;  ///< an editor or pager, which takes letters for commands
};

struct typed_text {
    std::string bytes;
    std::string note;  ///< what may not arrive as it is
};

/// The bytes to type so that `text` arrives as text: no completion by its tabs, no indentation by its line feeds, no
/// line cut. Text with other control characters, and what a program of the whole screen gets, is typed as keys, as it
/// is.
typed_text type_as_text(std::string_view text, const terminal_reader& reader);

/// Whether `text` is better typed once the shell shows its prompt.
bool wants_prompt(std::string_view text);

/// Whether the shell gets the first line by itself, because the lines behind it would arrive otherwise in the shell
/// than in a program that this line starts.
bool wants_steps(std::string_view text);

}  // namespace cmcp
