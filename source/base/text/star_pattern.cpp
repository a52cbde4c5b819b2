#include "text/star_pattern.hpp"

#include <cstddef>

namespace cmcp {

// The last star takes one more character each time that the rest does not fit behind it.
bool fits_star_pattern(std::string_view pattern, std::string_view name)
{
    std::size_t at = 0, of = 0, star = std::string_view::npos, begin = 0;
    while (of < name.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            begin = of;
        } else if (at < pattern.size() && pattern[at] == name[of]) {
            ++at;
            ++of;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            of = ++begin;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace cmcp
