#include "server/hidden_secrets.hpp"

#include "config/setting.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

extern char** environ;

namespace cmcp::command {

namespace {

// "NAME=value", in place.
void hide_value(char* pair)
{
    char* const equals = std::strchr(pair, '=');
    if (equals == nullptr) return;
    const auto* entry = find_setting(std::string_view(pair, static_cast<std::size_t>(equals - pair)));
    if (entry != nullptr && entry->secret) std::fill_n(equals + 1, std::strlen(equals + 1), '*');
}

}  // namespace

void hide_secrets(int argc, char** argv)
{
    constexpr std::string_view set = "--set=";
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) hide_value(*each);
    for (char** each = argv; each != argv + argc; ++each)
        hide_value(std::string_view(*each).starts_with(set) ? *each + set.size() : *each);
}

}  // namespace cmcp::command
