#include "identity/scope.hpp"

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 7> names{"mcp:read",     "mcp:files", "mcp:run",  "mcp:sandboxes",
                                                "mcp:packages", "mcp:web",   "mcp:admin"};

}  // namespace

scope_set scope_set::parse(std::string_view text)
{
    scope_set all;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto* const at = std::find(names.begin(), names.end(), text.substr(0, end));
        if (at != names.end()) all = all | static_cast<scope>(at - names.begin());
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return all;
}

std::string scope_set::text() const
{
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        if ((bits_ & bit(static_cast<scope>(i))) != 0) text.append(text.empty() ? "" : " ").append(names[i]);
    return text;
}

}  // namespace cmcp
