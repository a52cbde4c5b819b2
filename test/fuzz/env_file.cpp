// custom.env: every text is either refused with a sentence or read, and what is read has usable keys.
#include "config/load_settings.hpp"

#include "config/config_error.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    try {
        for (const auto& item : cmcp::parse_env_file({reinterpret_cast<const char*>(data), size}, "fuzz.env")) {
            if (item.key.empty() || item.key.find_first_of("=\n ") != std::string::npos) std::abort();
        }
    } catch (const cmcp::config_error&) {
    }
    return 0;
}
