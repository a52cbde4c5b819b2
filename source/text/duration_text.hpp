#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace cmcp {

/// "2.5 s"
inline std::string seconds_text(std::chrono::milliseconds time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) / 1000);
    return text;
}

}  // namespace cmcp
