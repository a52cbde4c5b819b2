#include "backup/user_tree.hpp"

#include <array>

namespace cmcp::backup {

namespace {

// "*" stands for one component.
constexpr std::array<std::string_view, 6> patterns{"root/workspace",
                                                   "root/callers/*/workspace",
                                                   "root/sessions/*/workspace",
                                                   "root/sandboxes/*/workspace",
                                                   "root/sandboxes/*/snapshots/*",
                                                   "root/images/*/root"};

std::string_view first_component(std::string_view& path)
{
    const auto end = path.find('/');
    const auto component = path.substr(0, end);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    return component;
}

// How much of the path the pattern takes up; 0: it is another path, or nothing is behind the pattern.
std::size_t matched(std::string_view path, std::string_view pattern)
{
    std::string_view rest = path;
    while (!pattern.empty()) {
        const auto wanted = first_component(pattern), component = first_component(rest);
        if (component.empty() || (wanted != "*" && wanted != component)) return 0;
    }
    return rest.empty() ? 0 : path.size() - rest.size() - 1;
}

}  // namespace

std::string_view user_tree(std::string_view path)
{
    for (const auto pattern : patterns)
        if (const auto length = matched(path, pattern); length > 0) return path.substr(0, length);
    return {};
}

}  // namespace cmcp::backup
