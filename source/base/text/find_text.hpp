#pragma once

#include <cstddef>
#include <string_view>

#include <string.h>

namespace cmcp {

/// As text.find(wanted, from), but in time linear in both: that of the standard library takes their product where a
/// caller chooses them so.
inline std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from = 0)
{
    if (from > text.size()) return std::string_view::npos;
    if (wanted.empty()) return from;
    const void* match = ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    return match == nullptr ? std::string_view::npos
                            : static_cast<std::size_t>(static_cast<const char*>(match) - text.data());
}

}  // namespace cmcp
