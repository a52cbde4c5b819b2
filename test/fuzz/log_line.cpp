// With any value in it, a text line of the log stays one line without control characters, and a JSON line stays JSON.
#include "log/log.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace cmcp;
    const std::string_view hostile(reinterpret_cast<const char*>(data), size);
    const json::string value(hostile);
    const auto text = log::format_text({}, log::level::info, hostile, {{"key", value}, {"nested", json::array{value}}});
    const auto lines =
        log::format_json({}, log::level::info, hostile, {{"key", value}, {"nested", json::array{value}}});
    for (const auto& line : {text, lines}) {
        if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) std::abort();
    }
    json::parse(lines);
    return 0;
}
