#pragma once

#include <string_view>

namespace cmcp {

/// The Python program (for `python3 -c`) that runs a caller's code as a script would be run. It reads the code from
/// descriptor 3 and writes the JSON form of the variable `_`, when there is one, to descriptor 4.
/// Its first argument is the workspace's path inside, which is made importable, after the standard library. With
/// "figures" as the second, open figures become files: python_figures stands before it then.
extern const std::string_view python_bootstrap;

}  // namespace cmcp
