#include "launcher/refill_pause.hpp"

#include <unistd.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet{1};
constexpr std::chrono::milliseconds longest_quiet{20};

}  // namespace

void refill_pause::run_began()
{
    const auto now = std::chrono::steady_clock::now();
    if (at_ == steady_time::max()) latest_ = now + longest_quiet;
    at_ = now + quiet;
}

void refill_pause::soon() { at_ = std::min(at_, std::chrono::steady_clock::now() + quiet); }

bool refill_pause::over(steady_time now, std::size_t running, bool none_left)
{
    static const auto processors = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    if (now < at_) return false;
    const std::size_t most = none_left ? processors : 1;
    const bool waits = running >= most && now < latest_;
    at_ = waits ? now + quiet : steady_time::max();
    return !waits;
}

}  // namespace cmcp::sandbox
