#include "text/timestamp.hpp"

#include <cstdio>
#include <ctime>

namespace cmcp {

std::string timestamp(std::chrono::system_clock::time_point when)
{
    const auto since = std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    const std::time_t whole = seconds.count();
    std::tm parts{};
    ::gmtime_r(&whole, &parts);
    char text[40];
    const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>((since - seconds).count()));
    return text;
}

}  // namespace cmcp
