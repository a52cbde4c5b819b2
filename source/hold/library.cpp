#include "hold/library.hpp"

#include <cstddef>

extern "C" {
extern const char cmcp_held_library[];
extern const char cmcp_held_library_end[];
}
asm(".pushsection .rodata\n"
    ".global cmcp_held_library, cmcp_held_library_end\n"
    "cmcp_held_library: .incbin \"" CMCP_HELD_LIBRARY
    "\"\n"
    "cmcp_held_library_end:\n"
    ".popsection\n");

namespace cmcp::sandbox {

std::string_view held_library_bytes()
{
    return {cmcp_held_library, static_cast<std::size_t>(cmcp_held_library_end - cmcp_held_library)};
}

}  // namespace cmcp::sandbox
