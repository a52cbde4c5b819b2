#include "hold/library.hpp"

#include <cstddef>

#define CMCP_EMBED(name, file)                                                      \
    extern "C" {                                                                    \
    extern const char(name)[];                                                      \
    extern const char name##_end[];                                                 \
    }                                                                               \
    asm(".pushsection .rodata\n"                                                    \
        ".global " #name ", " #name "_end\n" #name ": .incbin \"" file "\"\n" #name \
        "_end:\n"                                                                   \
        ".popsection\n")

CMCP_EMBED(cmcp_held_library, CMCP_HELD_LIBRARY);
CMCP_EMBED(cmcp_shell_library, CMCP_SHELL_LIBRARY);

namespace cmcp::sandbox {

std::string_view held_library_bytes()
{
    return {cmcp_held_library, static_cast<std::size_t>(cmcp_held_library_end - cmcp_held_library)};
}

std::string_view shell_library_bytes()
{
    return {cmcp_shell_library, static_cast<std::size_t>(cmcp_shell_library_end - cmcp_shell_library)};
}

}  // namespace cmcp::sandbox
