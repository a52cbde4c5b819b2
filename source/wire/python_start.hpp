#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// How a run starts Python. A cold run executes argv(); a clone of a loaded interpreter reads it back and becomes the
/// same.
struct python_start {
    std::string interpreter;             ///< absolute path inside
    bool isolated = true;                ///< -I: neither the user's own packages nor PYTHON… variables count
    std::string program;                 ///< of -c
    std::vector<std::string> arguments;  ///< sys.argv[1:]

    std::vector<std::string> argv() const;

    /// Nothing: `argv` starts Python in another way, or something else.
    static std::optional<python_start> read(const std::vector<std::string>& argv);
};

/// Whether a clone gives effect to these variables as Python does when it is started with them.
bool suits_a_clone(const python_start& start, const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace cmcp::sandbox
