#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A line of the code given by -c. The code before it says nothing about a run and is executed once, in the
/// interpreter that is kept loaded; a function `practise` that it defines is called then, so that its code is warm.
inline constexpr std::string_view run_begins = "\n# A run begins.\n";

/// Where an interpreter that is started by command_line() finds its program. It reads and closes the descriptor.
inline constexpr int program_descriptor = 5;

/// How a run starts Python. Requests have argv(). A cold run executes command_line(); a clone of a loaded interpreter
/// reads argv() back and becomes the same.
struct python_start {
    std::string interpreter;             ///< absolute path inside
    bool isolated = true;                ///< -I: neither the user's own packages nor PYTHON… variables count
    std::string program;                 ///< of -c
    std::vector<std::string> arguments;  ///< sys.argv[1:]

    std::vector<std::string> argv() const;

    /// The same without the program, whose length would be in every list of processes: what is there reads it from
    /// program_descriptor.
    std::vector<std::string> command_line() const;

    /// Nothing: `argv` starts Python in another way, or something else.
    static std::optional<python_start> read(const std::vector<std::string>& argv);
};

/// Whether a clone gives effect to these variables as Python does when it is started with them.
bool suits_a_clone(const python_start& start, const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace cmcp::sandbox
