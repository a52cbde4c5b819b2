#include "text/account_name.hpp"

#include <algorithm>
#include <array>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 20> taken{"root", "daemon", "bin",  "sys",      "sync",   "games",  "man",
                                                 "lp",   "mail",   "news", "uucp",     "proxy",  "backup", "list",
                                                 "irc",  "_apt",   "sudo", "www-data", "nobody", "nogroup"};

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_in_name(char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

}  // namespace

bool is_account_name(std::string_view name)
{
    return !name.empty() && name.size() <= 32 && (is_lower(name.front()) || name.front() == '_') &&
           std::ranges::all_of(name, is_in_name) && std::ranges::find(taken, name) == taken.end();
}

}  // namespace cmcp
