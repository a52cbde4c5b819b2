#include "config/unknown_variables.hpp"

#include "config/setting.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 8> our_prefixes{"MCP_", "BASH_",    "PYTHON_", "FILE_",
                                                       "WEB_", "SANDBOX_", "TOOLS_",  "HTTP_"};

// Variables of other programs that begin as ours do: bash itself, the official Python images, proxies.
constexpr std::array<std::string_view, 12> of_others{"HTTP_PROXY",    "BASH_ENV",           "BASH_VERSION",
                                                     "BASH_FUNC_",    "BASH_COMPAT",        "BASH_LOADABLES_PATH",
                                                     "BASH_XTRACEFD", "PYTHON_VERSION",     "PYTHON_PIP_VERSION",
                                                     "PYTHON_SHA256", "PYTHON_SETUPTOOLS_", "PYTHON_GET_PIP_"};

bool starts_with_any(std::string_view name, const auto& prefixes)
{
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<std::string> warn_of_unknown(const environment& variables)
{
    std::vector<std::string> sentences;
    for (const auto& [name, value] : variables) {
        if (!starts_with_any(name, our_prefixes) || starts_with_any(name, of_others) || find_setting(name)) continue;
        sentences.push_back("the environment variable " + name +
                            " is no known setting and does nothing; the nearest is " +
                            std::string(nearest_setting(name)));
    }
    return sentences;
}

}  // namespace cmcp
