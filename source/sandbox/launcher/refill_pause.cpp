#include "refill_pause.hpp"

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::chrono::milliseconds quiet{1};
constexpr std::chrono::milliseconds longest_quiet{20};

}  // namespace

void refill_pause::run_began()
{
    at_ = std::chrono::steady_clock::now() + quiet;
    latest_ = at_ + longest_quiet;
}

void refill_pause::soon() { at_ = std::min(at_, std::chrono::steady_clock::now() + quiet); }

bool refill_pause::over(steady_time now, bool busy)
{
    if (now < at_) return false;
    const bool waits = busy && now < latest_;
    at_ = waits ? now + quiet : steady_time::max();
    return !waits;
}

}  // namespace cmcp::sandbox
