#include "text/time_text.hpp"

#include <cstdio>

namespace cmcp {

std::string utc_text(std::time_t when, const char* format)
{
    std::tm parts{};
    ::gmtime_r(&when, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string timestamp(std::chrono::system_clock::time_point when)
{
    const auto since = std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>((since - seconds).count()));
    return utc_text(seconds.count(), "%Y-%m-%dT%H:%M:%S") + fraction;
}

std::string seconds_text(std::chrono::milliseconds time)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) / 1000);
    return text;
}

double seconds_since_1970()
{
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace cmcp
