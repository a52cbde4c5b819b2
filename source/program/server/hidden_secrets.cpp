#include "server/hidden_secrets.hpp"

#include "config/setting.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

extern char** environ;

namespace cmcp::command {

namespace {

// "NAME=value", in place.
void hide_value(char* pair, const std::vector<std::string>& variables)
{
    char* const equals = std::strchr(pair, '=');
    if (equals == nullptr) return;
    const std::string_view name(pair, static_cast<std::size_t>(equals - pair));
    const auto* entry = find_setting(name);
    const bool further = std::find(variables.begin(), variables.end(), name) != variables.end();
    if (further || (entry != nullptr && entry->secret)) std::fill_n(equals + 1, std::strlen(equals + 1), '*');
}

}  // namespace

void hide_secrets(int argc, char** argv, const std::vector<std::string>& variables)
{
    constexpr std::string_view set = "--set=";
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) hide_value(*each, variables);
    for (char** each = argv; each != argv + argc; ++each)
        hide_value(std::string_view(*each).starts_with(set) ? *each + set.size() : *each, {});
}

}  // namespace cmcp::command
