#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::test {

/// The pixels of a PNG with 8 bits a channel and no interlacing, as browsers write it (PNG specification, ISO/IEC
/// 15948).
struct png_image {
    std::uint32_t width = 0, height = 0;
    unsigned channels = 0;
    std::string pixels;

    explicit png_image(std::string_view bytes);  ///< throws std::runtime_error
    std::uint32_t rgb(std::uint32_t x, std::uint32_t y) const;
};

}  // namespace cmcp::test
