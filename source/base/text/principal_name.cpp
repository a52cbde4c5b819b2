#include "text/principal_name.hpp"

#include <algorithm>
#include <cstddef>

namespace cmcp {

bool can_be_principal(std::string_view name)
{
    constexpr std::size_t longest = 255;
    const auto visible = [](unsigned char c) { return c > ' ' && c < 0x7f; };
    return !name.empty() && name.size() <= longest && name.front() != '(' && std::ranges::all_of(name, visible);
}

}  // namespace cmcp
