#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

/// Whether a path leads through a folder whose files come and go with a build (dist, target, …).
inline bool is_in_build(std::string_view path)
{
    constexpr std::array<std::string_view, 6> folders{"dist", "build", "target", "coverage", "htmlcov", ".nuxt"};
    for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
        if (std::find(folders.begin(), folders.end(), path.substr(0, slash)) != folders.end()) return true;
        path.remove_prefix(slash + 1);
    }
    return false;
}

}  // namespace cmcp
