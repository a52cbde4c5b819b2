#pragma once

#include "text/nearest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// What a program with these flags and commands says of words that it does not know: a line each, in the order of
/// `unknown`. A word behind an unknown flag is taken for its value. `commands` may be empty.
inline std::string tell_unknown_words(std::string_view program, const std::vector<std::string>& unknown,
                                      const std::vector<std::string>& flags, const std::vector<std::string>& commands)
{
    std::string lines;
    bool behind_flag = false;
    for (const std::string& word : unknown) {
        const bool is_flag = word.starts_with('-');
        if (!is_flag && behind_flag) continue;
        behind_flag = is_flag && word.find('=') == std::string::npos;
        const std::string name = is_flag ? word.substr(0, word.find('=')) : word;
        const auto& known = is_flag ? flags : commands;
        lines.append(program).append(": ").append(name).append(is_flag         ? " is no flag"
                                                               : known.empty() ? " is not expected"
                                                                               : " is no command");
        if (!known.empty()) lines.append("; the nearest is ").append(nearest_of(known, name));
        lines.append("\n");
    }
    return lines.append("`").append(program).append(" --help` lists what there is\n");
}

}  // namespace cmcp
