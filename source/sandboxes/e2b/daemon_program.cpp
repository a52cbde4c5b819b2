#include "e2b/daemon_program.hpp"

#include <cstddef>

extern "C" {
extern const char cmcp_envd[];
extern const char cmcp_envd_end[];
}
asm(".pushsection .rodata\n"
    ".global cmcp_envd, cmcp_envd_end\n"
    "cmcp_envd: .incbin \"" CMCP_ENVD
    "\"\n"
    "cmcp_envd_end:\n"
    ".popsection\n");

namespace cmcp::e2b {

std::string_view daemon_program() { return {cmcp_envd, static_cast<std::size_t>(cmcp_envd_end - cmcp_envd)}; }

}  // namespace cmcp::e2b
