#pragma once

#include <string_view>

namespace cmcp::fixture {

/// A PNG of a single red pixel.
inline constexpr std::string_view sample_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV header without samples.
inline constexpr std::string_view sample_wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

}  // namespace cmcp::fixture
